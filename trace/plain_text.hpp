/// What a terminal would obey is shown, not obeyed. All text that others wrote (names in a trace, in debug
/// information, in a report that is compared with, of files) passes here before it is a part of a line.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>

namespace umadvisor::trace {

/// What a text is, and so what may stay in it.
enum class Plain : std::uint8_t {
    name,  ///< part of a line; bytes that are no UTF-8 stay, so that a file of that name is still found
    line,  ///< one line
    lines, ///< line feeds and tabs stay
};

/// Whether a terminal or a reader of lines takes it for more than a character: the control characters C0 (line
/// feed and tab among them), DEL and C1; the separators of lines and paragraphs; and the marks, embeddings,
/// overrides and isolates that turn the direction of what stands beside them (Unicode, UAX 9).
constexpr bool is_control(std::uint32_t code) noexcept {
    return code < 0x20 || (code >= 0x7f && code <= 0x9f) || code == 0x61c || code == 0x200e || code == 0x200f ||
           (code >= 0x2028 && code <= 0x202e) || (code >= 0x2066 && code <= 0x2069);
}

/// A code point, and how many bytes it takes.
struct CodePoint {
    std::uint32_t code = 0;
    std::size_t bytes = 0;   ///< 0: what is there is not well-formed UTF-8 (RFC 3629)
    bool unfinished = false; ///< then: but it may be the beginning of a code point that the text's end cuts
};

/// The first one of a text that is not empty.
constexpr CodePoint code_point(std::string_view text) noexcept {
    const auto byte = [text](std::size_t i) { return static_cast<unsigned char>(text[i]); };
    const std::uint32_t first = byte(0);
    if (first < 0x80)
        return {first, 1, false};
    const std::size_t bytes = first >= 0xc2 && first < 0xe0   ? 2
                              : first >= 0xe0 && first < 0xf0 ? 3
                              : first >= 0xf0 && first < 0xf5 ? 4
                                                              : 0;
    if (bytes == 0)
        return {};
    std::uint32_t code = first & (0x7fu >> bytes);
    for (std::size_t i = 1; i < bytes; ++i) {
        if (i == text.size())
            return {0, 0, true};
        if ((byte(i) & 0xc0u) != 0x80)
            return {};
        code = code << 6 | (byte(i) & 0x3fu);
        // Overlong, of a surrogate or beyond the last code point: the second byte shows it.
        if (i == 1 && ((first == 0xe0 && code < 0x20) || (first == 0xed && code >= 0x360) ||
                       (first == 0xf0 && code < 0x10) || (first == 0xf4 && code >= 0x110)))
            return {};
    }
    return {code, bytes, false};
}

/// Puts a question mark in the place of each control character and, unless it is a name, of each byte that is
/// no UTF-8. In place: the text grows no longer. Returns its new length. Allocates nothing, throws nothing.
inline std::size_t make_plain(char* text, std::size_t bytes, Plain kind) noexcept {
    std::size_t to = 0;
    for (std::size_t at = 0; at < bytes;) {
        if (text[at] >= 0x20 && text[at] < 0x7f) { // nearly all are
            text[to++] = text[at++];
            continue;
        }
        const CodePoint point = code_point({text + at, bytes - at});
        const std::size_t taken = point.bytes == 0 ? 1 : point.bytes;
        const bool stays = point.bytes == 0
                               ? kind == Plain::name
                               : !is_control(point.code) ||
                                     (kind == Plain::lines && (point.code == '\n' || point.code == '\t'));
        if (stays)
            std::memmove(text + to, text + at, taken);
        else
            text[to] = '?';
        to += stays ? taken : 1;
        at += taken;
    }
    return to;
}

} // namespace umadvisor::trace
