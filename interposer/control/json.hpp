/// Answers: JSON objects on one line, in a buffer of the caller's.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace umadvisor::control {

/// Writes what fits; finish() says whether all did. Names must need no escapes.
class JsonText {
public:
    constexpr JsonText(char* buffer, std::size_t bytes) noexcept : buffer_(buffer), capacity_(bytes) {}

    /// Within another object the name comes first; an element of a list has none.
    void begin_object(std::string_view name = {}) noexcept { begin(name, '{'); }
    void end_object() noexcept { end('}'); }
    void begin_list(std::string_view name) noexcept { begin(name, '['); }
    void end_list() noexcept { end(']'); }

    void flag(std::string_view name, bool value) noexcept;
    void number(std::string_view name, std::uint64_t value) noexcept;
    /// Seconds with a fraction, to a millisecond, of a number of nanoseconds.
    void seconds(std::string_view name, std::uint64_t nanoseconds) noexcept;
    /// Bytes that are no UTF-8 become U+FFFD.
    void text(std::string_view name, std::string_view value) noexcept;

    /// The line with its end; empty if it did not fit.
    std::string_view finish() noexcept;

private:
    void put(char c) noexcept;
    void put(std::string_view text) noexcept;
    void put_number(std::uint64_t value) noexcept;
    void put_name(std::string_view name) noexcept;
    void put_escaped(std::string_view text) noexcept;
    void begin(std::string_view name, char bracket) noexcept;
    void end(char bracket) noexcept;

    char* buffer_;
    std::size_t capacity_, length_ = 0;
    bool needs_comma_ = false, full_ = false;
};

/// The length of the UTF-8 character that `text` begins with; 0: it begins with none.
std::size_t length_of_character(std::string_view text) noexcept;

} // namespace umadvisor::control
