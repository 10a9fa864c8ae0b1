/// CUPTI as the source of managed memory's events.
#pragma once

#include <atomic>

namespace umadvisor::observe {

/// Takes CUPTI's one seat, so only for who asked for it: a profiler that the program starts later goes without.
/// Records come late, in buffers; a thread of our own fetches and writes them, since a reader takes each
/// thread's records in the order in which they stand. It ends with the program's exit handlers, before the
/// driver does: what happens to managed memory later, or before quick_exit(3) and signals that kill, is not
/// recorded. Safe from any thread but for open().
class CuptiWatch {
public:
    /// Loads CUPTI, takes its seat and begins to watch: some 20 ms. Null, or why it cannot watch: a text that
    /// stays.
    const char* open() noexcept;

    bool watches() const noexcept { return watching_.load(std::memory_order_relaxed); }

    /// The program has waited, or launches something: complete records shall be fetched soon, and totals
    /// written for this moment once they are known. CUPTI is never called in a call of the program's.
    void look() noexcept {
        if (watches())
            note_look();
    }

    /// Whether there was a look() since the last time.
    bool was_asked() noexcept { return asked_.exchange(false, std::memory_order_relaxed); }

    /// Ends the watch without another call of CUPTI: in a forked child, and when the driver may be gone.
    void forget() noexcept { watching_.store(false); }

private:
    void note_look() noexcept;

    std::atomic<bool> watching_{false};
    std::atomic<bool> asked_{false};
};

CuptiWatch& cupti_watch() noexcept;

} // namespace umadvisor::observe
