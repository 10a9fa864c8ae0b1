/// What a client asks: a line of words with tabs between, the command first, then key=value.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace umadvisor::control {

/// The longest line, its end included.
inline constexpr std::size_t most_request_bytes = 8192;

/// Its texts are in the line that parse() was given, each ended by a zero.
class Request {
public:
    std::string_view command;

    /// The value of a key; empty if the request does not have it.
    std::string_view value(std::string_view key) const noexcept;
    /// Null, or why a key is not one of `allowed` (words with a space between).
    const char* check(std::string_view allowed) const noexcept;

    struct Value {
        std::string_view key, text;
    };
    static constexpr std::size_t most_values = 8;
    Value values[most_values];
    std::size_t count = 0;
};

/// Reads a line of `bytes` bytes, its newline not included; line[bytes] is written to, too. Null, or why it is
/// not understood: a static text.
const char* parse(char* line, std::size_t bytes, Request& to) noexcept;

/// Digits alone, at most 19 of them.
bool parse_number(std::string_view text, std::uint64_t& number) noexcept;

/// "0" or "1".
bool parse_flag(std::string_view text, bool& flag) noexcept;

} // namespace umadvisor::control
