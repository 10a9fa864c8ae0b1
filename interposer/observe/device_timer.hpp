/// The device's own time of sampled launches and copies, from pairs of events around them.
#pragma once

#include "interposer/attach/entries.hpp"

#include <cstdint>

namespace umadvisor::observe {

struct EventPair;

/// A call that is being timed, from begin() to end().
struct DeviceSample {
    std::uint64_t number = 0; ///< 0: it is not
    EventPair* pair = nullptr;
};

/// Per key (what is alike: function and shape, or copy class) the first 8 are timed, then one in 64, of very
/// many one in 1024, all of it within 1% of the run time after a first allowance: a pair costs its call 1.6 us
/// and its stream 3.3 us. Never during stream capture. Every trouble means: not timed. Streams are explicit
/// handles: 0 the legacy default stream, CU_STREAM_PER_THREAD the calling thread's. Thread-safe; no lock unless
/// a pair is taken.
class DeviceTimer {
public:
    constexpr DeviceTimer() noexcept = default;

    /// Records the first event on `stream`, where this call is timed. A caller that counts by
    /// itself asks once in a while only: `calls` is for how many, this one included, and comes back as for how
    /// many to ask the next time.
    DeviceSample begin(CUstream stream, std::uint64_t key, std::uint32_t& calls) noexcept;
    DeviceSample begin(CUstream stream, std::uint64_t key) noexcept {
        std::uint32_t one = 1;
        return begin(stream, key, one);
    }

    /// Records the second event, after the call.
    void end(const DeviceSample& sample, CUstream stream) noexcept {
        if (sample.pair != nullptr)
            record_end(*sample.pair, stream);
    }

    /// Reads what the current context has finished and writes DeviceTime records. Called after the program's
    /// own synchronisation; never waits.
    void collect() noexcept;

    /// Nanoseconds of the first allowance.
    void set_allowance(std::uint64_t nanoseconds) noexcept;

private:
    static void record_end(EventPair& pair, CUstream stream) noexcept;
};

DeviceTimer& device_timer() noexcept;

} // namespace umadvisor::observe
