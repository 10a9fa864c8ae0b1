/// Whether calls are recorded at the moment: one word, which every hook reads first.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <sys/mman.h>

namespace umadvisor::record {

/// How much is taken into the trace. Each level takes what those before it take.
enum class Taking : std::uint8_t {
    nothing, ///< before open(), after abandon()
    state,   ///< paused: what later records refer to (allocations, streams, modules) is followed all the same
    everything
};

namespace detail {
/// Alone in its page, since that page reads zero in a child, however the child was made: see
/// stop_in_children().
#if defined(__x86_64__)
inline constexpr std::size_t page_bytes = 4096;
#else
inline constexpr std::size_t page_bytes = 65536;
#endif
struct alignas(page_bytes) TakingPage {
    std::atomic<Taking> word{Taking::nothing};
};
inline constinit TakingPage taking_page{};
inline constexpr std::atomic<Taking>& taking = taking_page.word;
} // namespace detail

/// From fork on a child takes nothing, also one that _Fork(3) or clone(2) made, for which no atfork handler
/// runs. A kernel before 4.14 cannot do that: madvise(2), MADV_WIPEONFORK.
inline void stop_in_children() noexcept {
    madvise(&detail::taking_page, sizeof detail::taking_page, MADV_WIPEONFORK);
}

/// Whether calls that need `level` are recorded. One relaxed load, of which gcc makes a conditional move: it
/// orders nothing, so what is recorded goes by see_trace() first.
inline bool takes(Taking level) noexcept {
    return detail::taking.load(std::memory_order_relaxed) >= level;
}

/// Before a call is recorded: open() may have been another thread's. Whoever has read the word with acquire
/// finds the file's header, the key of threads and all that was made before the word was released (pause() and
/// resume() exchange it, which carries that on). On x86-64 it is a load like any other, on aarch64 an LDAR.
inline Taking see_trace() noexcept {
    return detail::taking.load(std::memory_order_acquire);
}

/// Whether there is a trace to write to, paused or not.
inline bool recording() noexcept {
    return see_trace() >= Taking::state;
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
