#pragma once
// Time as the driver sees it: simcuda's clock stands still while the host computes, so waiting is telling it to
// go on.
#include "tools/simcuda/control.hpp"

#include <dlfcn.h>

#include <chrono>
#include <cstdint>

namespace habits {

using Nanoseconds = std::uint64_t;

/// Longer than the driver remembers an access for its thrashing rule (500 us): what happens on either side of
/// it is alternation, never concurrence.
inline constexpr Nanoseconds pause = 2'000'000;

template <class Signature>
Signature* simcuda_function(const char* name) {
    static void* const driver = dlopen("libcuda.so.1", RTLD_NOW | RTLD_NOLOAD);
    return driver ? reinterpret_cast<Signature*>(dlsym(driver, name)) : nullptr;
}

inline Nanoseconds now() {
    static auto* const clock = simcuda_function<decltype(simcuda_clock_ns)>("simcuda_clock_ns");
    static auto* const lock = simcuda_function<decltype(simcuda_get)>("simcuda_get");
    if (clock && lock) {
        // A faulting thread may go on before its fault is on the clock: the driver's lock is held until it is.
        lock();
        return clock();
    }
    const auto since = std::chrono::steady_clock::now().time_since_epoch();
    return static_cast<Nanoseconds>(std::chrono::duration_cast<std::chrono::nanoseconds>(since).count());
}

/// Returns at once when `then` is past.
inline void wait_until(Nanoseconds then) {
    static auto* const advance = simcuda_function<decltype(simcuda_advance_ns)>("simcuda_advance_ns");
    for (Nanoseconds time = now(); time < then; time = now())
        if (advance)
            advance(then - time);
}

/// The host has gone through so many bytes: on simcuda, whose clock it does not move, as fast as these programs
/// do it by hand beside an H200 (3 to 15 bytes a nanosecond; this is the geometric mean of thirteen).
inline void pass_host_time(std::size_t bytes) {
    static auto* const advance = simcuda_function<decltype(simcuda_advance_ns)>("simcuda_advance_ns");
    constexpr std::size_t bytes_per_ns = 8;
    if (advance)
        advance(bytes / bytes_per_ns);
}

inline void wait_pause() {
    wait_until(now() + pause);
}

/// Turns that begin at a fixed distance: a page touched in each is touched at that distance, however long a
/// turn takes. After one that is late by more than a distance (its kernel was loaded first, the machine was
/// busy) they begin anew: to catch up they would come back to back, which is another habit.
class Pace {
public:
    explicit Pace(Nanoseconds distance) : distance_(distance), next_(now()) {}

    void wait() {
        next_ += distance_;
        if (const Nanoseconds time = now(); time > next_ + distance_)
            next_ = time + distance_;
        wait_until(next_);
    }

private:
    Nanoseconds distance_, next_;
};

} // namespace habits
