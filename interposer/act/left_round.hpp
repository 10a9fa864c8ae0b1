/// The round of a thread that --act prefetch leaves as it would be without it (compared_rounds.hpp).
#pragma once

#include <cstdint>

namespace umadvisor::act {

/// The calling thread has waited for the device.
void count_wait() noexcept;

/// A launch with this call stack is about to be made: a round that was left alone may end with it.
void end_left_round(std::uint64_t stack) noexcept;

/// The same launch misses `bytes` that could be brought. Whether a round begins that is left alone.
bool leave_round(std::uint64_t stack, std::uint64_t bytes) noexcept;

/// Whether nothing is to be brought for the calling thread.
bool round_is_left() noexcept;

} // namespace umadvisor::act
