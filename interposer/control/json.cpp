#include "interposer/control/json.hpp"

namespace umadvisor::control {

std::size_t length_of_character(std::string_view text) noexcept {
    const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
    if (text.empty())
        return 0;
    const unsigned char first = byte(0);
    if (first < 0x80)
        return 1;
    const std::size_t length = first >= 0xf0 ? 4 : first >= 0xe0 ? 3 : 2;
    if (first < 0xc2 || first > 0xf4 || text.size() < length)
        return 0;
    for (std::size_t i = 1; i < length; ++i)
        if ((byte(i) & 0xc0) != 0x80)
            return 0;
    // Not in the shortest form, a half of a pair of UTF-16, or beyond the last character.
    if ((first == 0xe0 && byte(1) < 0xa0) || (first == 0xed && byte(1) >= 0xa0) ||
        (first == 0xf0 && byte(1) < 0x90) || (first == 0xf4 && byte(1) >= 0x90))
        return 0;
    return length;
}

void JsonText::put(char c) noexcept {
    if (length_ == capacity_)
        full_ = true;
    else
        buffer_[length_++] = c;
}

void JsonText::put(std::string_view text) noexcept {
    for (const char c : text)
        put(c);
}

void JsonText::put_number(std::uint64_t value) noexcept {
    char digits[20];
    std::size_t count = 0;
    do
        digits[count++] = static_cast<char>('0' + value % 10);
    while ((value /= 10) != 0);
    while (count != 0)
        put(digits[--count]);
}

void JsonText::put_escaped(std::string_view text) noexcept {
    constexpr char hex[] = "0123456789abcdef";
    put('"');
    while (!text.empty()) {
        const std::size_t length = length_of_character(text);
        const auto first = static_cast<unsigned char>(text.front());
        if (length == 0) {
            put("\\ufffd");
        } else if (first < 0x20 || first == 0x7f) {
            put("\\u00");
            put(hex[first >> 4]);
            put(hex[first & 15]);
        } else {
            if (first == '"' || first == '\\')
                put('\\');
            put(std::string_view(text.data(), length));
        }
        text.remove_prefix(length != 0 ? length : 1);
    }
    put('"');
}

void JsonText::put_name(std::string_view name) noexcept {
    if (needs_comma_)
        put(',');
    needs_comma_ = true;
    if (name.empty())
        return;
    put('"');
    put(name);
    put("\":");
}

void JsonText::begin(std::string_view name, char bracket) noexcept {
    put_name(name);
    put(bracket);
    needs_comma_ = false;
}

void JsonText::end(char bracket) noexcept {
    put(bracket);
    needs_comma_ = true;
}

void JsonText::flag(std::string_view name, bool value) noexcept {
    put_name(name);
    put(value ? "true" : "false");
}

void JsonText::number(std::string_view name, std::uint64_t value) noexcept {
    put_name(name);
    put_number(value);
}

void JsonText::seconds(std::string_view name, std::uint64_t nanoseconds) noexcept {
    put_name(name);
    const std::uint64_t milliseconds = nanoseconds / 1'000'000;
    put_number(milliseconds / 1000);
    put('.');
    put(static_cast<char>('0' + milliseconds / 100 % 10));
    put(static_cast<char>('0' + milliseconds / 10 % 10));
    put(static_cast<char>('0' + milliseconds % 10));
}

void JsonText::text(std::string_view name, std::string_view value) noexcept {
    put_name(name);
    put_escaped(value);
}

std::string_view JsonText::finish() noexcept {
    put('\n');
    return full_ ? std::string_view() : std::string_view(buffer_, length_);
}

} // namespace umadvisor::control
