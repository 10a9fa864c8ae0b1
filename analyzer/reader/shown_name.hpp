/// How names of a trace are shown: a trace of 26 KB made 256 MB of text from names of 16,000 bytes.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace umadvisor::reader {

inline constexpr std::size_t longest_shown_name = 1024; ///< bytes; kernels of PyTorch have names of 600

/// The name, or its beginning and "…" where it is longer than `longest`. Characters of UTF-8 stay whole.
inline std::string shown_name(std::string_view name, std::size_t longest = longest_shown_name) {
    if (name.size() <= longest)
        return std::string(name);
    std::size_t end = longest;
    while (end > longest - 4 && (static_cast<unsigned char>(name[end]) & 0xc0) == 0x80)
        --end;
    return std::string(name.substr(0, end)) + "…";
}

} // namespace umadvisor::reader
