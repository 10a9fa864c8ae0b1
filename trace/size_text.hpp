/// How sizes are written: in the settings that a trace keeps, and on the command line.
#pragma once

#include <cstdint>
#include <string_view>
#include <utility>

namespace umadvisor::trace {

/// "4096", "512MiB", "8G": a number of bytes, K, M, G or T (or KiB, MiB, ...), those by 1024. False, and
/// `bytes` untouched, for anything else and for what 64 bits do not hold.
constexpr bool parse_size(std::string_view text, std::uint64_t& bytes) noexcept {
    int shift = 0;
    for (const auto& [suffix, bits] : {std::pair<std::string_view, int>{"KiB", 10},
                                       {"MiB", 20},
                                       {"GiB", 30},
                                       {"TiB", 40},
                                       {"K", 10},
                                       {"M", 20},
                                       {"G", 30},
                                       {"T", 40},
                                       {"B", 0}})
        if (text.ends_with(suffix)) {
            shift = bits;
            text.remove_suffix(suffix.size());
            break;
        }
    std::uint64_t number = 0;
    for (const char digit : text) {
        const auto value = static_cast<std::uint64_t>(digit - '0');
        if (digit < '0' || digit > '9' || number > (UINT64_MAX - value) / 10)
            return false;
        number = number * 10 + value;
    }
    if (text.empty() || number > (UINT64_MAX >> shift))
        return false;
    bytes = number << shift;
    return true;
}

} // namespace umadvisor::trace
