/// Bounds for what a program can create without limit (bounds.def). A bound that was reached is a line of the
/// report.
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

/// The program has exceeded the bound by one. The first time is noted at once, in case the trace is never
/// closed. Any thread; it may hold any of our locks but the dictionary's.
void reached(Bound bound) noexcept;

/// Notes how often each bound was exceeded. Called at the trace's end.
void note_reached() noexcept;

} // namespace umadvisor::record
