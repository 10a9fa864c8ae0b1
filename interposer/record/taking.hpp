/// Whether calls are recorded at the moment: one word, which every hook reads first.
#pragma once

#include <atomic>
#include <cstdint>

namespace umadvisor::record {

/// How much is taken into the trace. Each level takes what those before it take.
enum class Taking : std::uint8_t {
    nothing, ///< before open(), after abandon()
    state,   ///< paused: what later records refer to (allocations, streams, modules) is followed all the same
    everything
};

namespace detail {
inline constinit std::atomic<Taking> taking{Taking::nothing};
}

/// Whether calls that need `level` are recorded. One relaxed load.
inline bool takes(Taking level) noexcept {
    return detail::taking.load(std::memory_order_relaxed) >= level;
}

/// Whether there is a trace to write to, paused or not.
inline bool recording() noexcept {
    return takes(Taking::state);
}

/// From now on calls of the program are forwarded at the price of a load and a branch, but for those that the
/// trace could not be understood without. Any thread; calls under way are recorded to their end.
inline void pause() noexcept {
    Taking all = Taking::everything;
    detail::taking.compare_exchange_strong(all, Taking::state, std::memory_order_relaxed);
}

/// Ends a pause.
inline void resume() noexcept {
    Taking paused = Taking::state;
    detail::taking.compare_exchange_strong(paused, Taking::everything, std::memory_order_relaxed);
}

} // namespace umadvisor::record
