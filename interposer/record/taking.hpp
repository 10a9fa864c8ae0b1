/// Whether calls are recorded now: one word, which every hook reads first.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <sys/mman.h>

namespace umadvisor::record {

/// How much is recorded. Each level includes those before it.
enum class Taking : std::uint8_t {
    nothing, ///< before open(), after abandon()
    state,   ///< paused: only what later records refer to (allocations, streams, modules) is recorded
    everything,
    by_clock ///< `everything` or `state`, as the clock says: a pause begins or ends at a time that was set
};

/// Answers takes() while the word is `by_clock`; runtime/window.cpp has it.
using Clock = bool (*)(Taking level);

namespace detail {
/// Alone in its page, which reads as zero in a forked child: see stop_in_children().
#if defined(__x86_64__)
inline constexpr std::size_t page_bytes = 4096;
#else
inline constexpr std::size_t page_bytes = 65536;
#endif
struct alignas(page_bytes) TakingPage {
    std::atomic<Taking> word{Taking::nothing};
    std::atomic<bool> keeps{false}, held{false}, watched{false};
    std::atomic<std::uint8_t> attention{0};
    std::atomic<std::uint32_t> part{0};
};
inline constinit TakingPage taking_page{};
static_assert(offsetof(TakingPage, attention) == 4, "attach/exports_*.S read it there");
inline constexpr std::atomic<Taking>& taking = taking_page.word;
inline constinit Clock ask_clock = nullptr;
} // namespace detail

/// A child records nothing from fork on, also one that _Fork(3) or clone(2) made, for which no atfork handler
/// runs (madvise(2), MADV_WIPEONFORK; not with a kernel before 4.14).
inline void stop_in_children() noexcept {
    madvise(&detail::taking_page, sizeof detail::taking_page, MADV_WIPEONFORK);
}

/// False if no call that needs `level` is recorded now. If it is true and the clock decides, a hook asks
/// takes(). One relaxed load, of which gcc makes a conditional move. It orders nothing, so a call that is
/// recorded uses see_trace() first.
inline bool may_take(Taking level) noexcept {
    return detail::taking.load(std::memory_order_relaxed) >= level;
}

/// Called before a call is recorded, since another thread may have called open(). The load with acquire makes
/// the file's header, the key of threads and all that was made before the store with release visible (pause()
/// and resume() exchange the word, which keeps that). On x86-64 it is a plain load, on aarch64 an LDAR.
inline Taking see_trace() noexcept {
    return detail::taking.load(std::memory_order_acquire);
}

/// Whether calls that need `level` are recorded now. Where the clock decides, this may end or begin a pause,
/// which keeps errno.
inline bool takes(Taking level) noexcept {
    const Taking now = see_trace();
    return now != Taking::by_clock ? now >= level : detail::ask_clock(level);
}

/// Whether what the program makes is followed: there is a trace, paused or not, or there may be one later.
inline bool recording() noexcept {
    return see_trace() >= Taking::state;
}

/// Whether there is a trace to write to. In the line of the cache that each hook reads.
inline bool keeps() noexcept {
    return detail::taking_page.keeps.load(std::memory_order_acquire);
}

/// Whether calls that run in a pause because they are counted (totals.hpp) stay out of the trace.
inline bool is_held() noexcept {
    return detail::taking_page.held.load(std::memory_order_relaxed);
}
inline void set_held(bool held) noexcept {
    detail::taking_page.held.store(held, std::memory_order_relaxed);
}

/// Why every call of the program is looked at before it is made (act/attention.hpp); 0: it is not. In the same
/// line; 0 in a forked child.
inline std::atomic<std::uint8_t>& attention() noexcept {
    return detail::taking_page.attention;
}

/// The part of the process's recordings that is written now, from 1: a trace, or a lap of one that is a ring. A
/// chunk is of the part that it was begun in, and a thread that finds another one begins a new chunk. In the
/// same line.
inline std::uint32_t part() noexcept {
    return detail::taking_page.part.load(std::memory_order_acquire);
}

namespace detail {
/// What is given up stays given up.
inline void switch_to(Taking next) noexcept {
    Taking now = taking.load(std::memory_order_relaxed);
    while (now != Taking::nothing && !taking.compare_exchange_weak(now, next, std::memory_order_acq_rel)) {
    }
}
} // namespace detail

/// From now on calls of the program are only forwarded, for a load and a branch, except those that later
/// records refer to. Any thread may call it; calls under way are recorded to their end.
inline void pause() noexcept {
    detail::switch_to(Taking::state);
}

/// Ends a pause.
inline void resume() noexcept {
    detail::switch_to(Taking::everything);
}

/// From now on each call asks `clock` whether it is recorded, until the next pause() or resume(). No call pays
/// for that before or after.
inline void follow_clock(Clock clock) noexcept {
    if (detail::ask_clock != clock) // threads read it without a lock from the first time on
        detail::ask_clock = clock;
    detail::switch_to(Taking::by_clock);
}

} // namespace umadvisor::record
