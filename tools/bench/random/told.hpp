/// What a thread tells of its steps, so that two runs that differ show where.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <string>

namespace random_program {

/// What a step brought: one for each buffer that it read, and one for all that its thread had seen by then.
struct Told {
    std::size_t step;
    const char* name;
    std::uint64_t digest;
    std::string about; ///< what was read of which buffer, and the steps that had used it
};

inline std::string first_bytes(const void* from, std::size_t length) {
    constexpr std::size_t shown = 16;
    std::string text = std::to_string(length) + " bytes: ";
    for (std::size_t i = 0; i < std::min(length, shown); ++i) {
        char digits[4];
        std::snprintf(digits, sizeof digits, "%02x", static_cast<const unsigned char*>(from)[i]);
        text += digits;
    }
    return text;
}

} // namespace random_program
