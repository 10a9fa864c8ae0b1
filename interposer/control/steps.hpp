/// How long the NVTX ranges take that a trigger names.
#pragma once

#include "trace/values.hpp"

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace umadvisor::control {

/// Measures ranges of this name from now on. Returns a number for longest_step(), below `most_steps`. The text
/// must stay. Called by the server's thread, `most_steps` times at most.
std::size_t measure_steps(std::string_view name) noexcept;
inline constexpr std::size_t most_steps = 8;

/// A range has begun or ended. `id`: of RangeAction::start and end. A load, unless ranges are measured. Takes
/// no lock.
void note_range(trace::RangeAction action, std::string_view text, std::uint64_t id) noexcept;

/// Nanoseconds that the longest range took that has ended since the last call; 0: none has.
std::uint64_t longest_step(std::size_t number) noexcept;

} // namespace umadvisor::control
