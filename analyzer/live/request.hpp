/// A request to a process: one line.
#pragma once

#include <string>
#include <string_view>

namespace umadvisor::live {

inline constexpr std::size_t longest_request = 8 << 10; ///< bytes, with the line feed

/// A command, then key=value, with tabs between.
class Request {
public:
    explicit Request(std::string_view command) : line_(command) {}
    /// Throws reader::Error where `value` has a tab or a line feed, or makes the line too long.
    Request& with(std::string_view key, std::string_view value);
    std::string line() const { return line_ + "\n"; }

private:
    std::string line_;
};

} // namespace umadvisor::live
