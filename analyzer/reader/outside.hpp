/// How events outside the selected ranges are distinguished from those inside.
#pragma once

#include <cstdint>

namespace umadvisor::reader {

/// A part of a call stack's number. What a call outside does is understood as ever, under a stack of its own: a
/// line that is called inside and outside is two call sites. The recorder's numbers are small.
inline constexpr std::uint64_t outside_mark = std::uint64_t{1} << 63;

inline bool is_outside(std::uint64_t stack) {
    return (stack & outside_mark) != 0;
}
/// As the dictionary knows it.
inline std::uint64_t plain_stack(std::uint64_t stack) {
    return stack & ~outside_mark;
}

} // namespace umadvisor::reader
