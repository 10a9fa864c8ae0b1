/// Text by the columns that it takes on a terminal: near enough, one for each character of UTF-8.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace umadvisor::text {

/// Of a character of several bytes not the first.
constexpr bool continues(char c) {
    return (static_cast<unsigned char>(c) & 0xc0) == 0x80;
}

std::size_t columns(std::string_view text);
/// The text, or its beginning and "…" where it takes more.
std::string cut(const std::string& text, std::size_t width);

} // namespace umadvisor::text
