/// How events outside the selected ranges are distinguished from those inside.
#pragma once

#include <cstdint>

namespace umadvisor::reader {

/// A bit in a call stack's number. A call outside is followed like any other, but under a stack of its own: a
/// line that is called inside and outside is two call sites. The recorder's own numbers are too small for it.
inline constexpr std::uint64_t outside_mark = std::uint64_t{1} << 63;

inline bool is_outside(std::uint64_t stack) {
    return (stack & outside_mark) != 0;
}
/// The number by which the dictionary knows the stack.
inline std::uint64_t plain_stack(std::uint64_t stack) {
    return stack & ~outside_mark;
}

} // namespace umadvisor::reader
