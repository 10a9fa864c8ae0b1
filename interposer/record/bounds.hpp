/// How much is kept of what a program can make without end: bounds.def. That a bound was reached is a line of
/// the report.
#pragma once

#include <cstddef>
#include <cstdint>

namespace umadvisor::record {

enum class Bound : std::uint8_t {
#define BOUND(name, most, what, rest) name,
#include "interposer/record/bounds.def"
#undef BOUND
    count_
};

/// How many are kept.
constexpr std::size_t most(Bound bound) noexcept {
    constexpr std::size_t all[] = {
#define BOUND(name, most, what, rest) most,
#include "interposer/record/bounds.def"
#undef BOUND
    };
    return all[static_cast<std::size_t>(bound)];
}

/// One more has come than is kept, and is not. The first is told to the trace at once, in case there is no end.
/// Any thread, any of our locks but the dictionary's.
void reached(Bound bound) noexcept;

/// Tells the trace how many there were, of all bounds. At the trace's end.
void tell_reached() noexcept;

} // namespace umadvisor::record
