/// The device's own time of sampled launches and copies, from pairs of events around them.
#pragma once

#include "interposer/attach/entries.hpp"

#include <cstdint>

namespace umadvisor::observe {

struct EventPair;

/// A call that is being timed, from begin() to end().
struct DeviceSample {
    std::uint64_t number = 0; ///< 0: the call is not timed
    EventPair* pair = nullptr;
};

/// A key stands for like calls: function and shape, or class of copy. The first 8 calls of a key are timed,
/// then one in 64, later one in 1024. Timing takes at most 1% of the run time after a first allowance: a pair
/// costs its call 1.6 us and its stream 3.3 us. Nothing is timed during stream capture, and no error of the
/// driver reaches the program. Streams are explicit handles: 0 is the legacy default stream,
/// CU_STREAM_PER_THREAD that of the calling thread. Thread-safe; locks only for a call that is timed.
class DeviceTimer {
public:
    constexpr DeviceTimer() noexcept = default;

    /// Records the first event on `stream` if this call is timed. A caller that counts calls itself need not
    /// ask for each: `calls` is the number of calls since it last asked, this one included, and returns the
    /// number after which to ask again.
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

    /// Writes DeviceTime records for pairs of the current context that are complete. Called after the program's
    /// own synchronisation; never waits.
    void collect() noexcept;

    /// A recording begins: the first calls of each key are timed again.
    void begin_recording() noexcept;

    /// Nanoseconds of the first allowance.
    void set_allowance(std::uint64_t nanoseconds) noexcept;

private:
    static void record_end(EventPair& pair, CUstream stream) noexcept;
};

DeviceTimer& device_timer() noexcept;

} // namespace umadvisor::observe
