/// Where a managed allocation was, from samples of the host's page table.
#pragma once

#include "trace/event_records.hpp"

#include <cstdint>
#include <map>
#include <utility>
#include <vector>

namespace umadvisor::model {

/// What samples of one allocation add up to. Moves that a prefetch explains are counted apart: only what came
/// by faults is anything to advise on. Bytes are extrapolated from the pages that were looked at to the whole
/// allocation.
struct Moves {
    std::uint64_t to_device = 0, to_host = 0;             ///< times a significant part went by faults
    std::uint64_t bytes_to_device = 0, bytes_to_host = 0; ///< by faults
    std::uint64_t prefetched_bytes = 0;                   ///< either way, by prefetch
    std::uint64_t first_bytes = 0;                        ///< of them, in the first move to the device
    bool populated_by_host = false;                       ///< host pages were seen before a first launch
};

class Residence {
public:
    explicit Residence(std::uint64_t bytes) : bytes_(bytes) {}

    /// `syncs` counts the synchronisations of the program so far: a prefetch before one has ended by then.
    void prefetch(std::uint64_t offset, std::uint64_t bytes, trace::Location location, std::uint64_t syncs);
    /// What changed since the sample before.
    enum class Change : std::uint8_t { none, left_host, came_to_host };
    Change sample(const trace::Residency& record, std::uint64_t syncs);

    Moves moves() const;
    std::uint64_t samples() const { return samples_; }
    bool on_host() const { return on_host_; } ///< the last sample found host pages
    /// Share of the allocation that was looked at, 0 to 1.
    double coverage() const;

private:
    /// A part of the allocation that is looked at as a whole.
    struct Window {
        std::uint64_t host_bytes = 0;                             ///< at the last sample
        std::uint64_t device_bytes = 0;                           ///< gone to the device and not come back
        std::uint64_t to_device_pending = 0, to_host_pending = 0; ///< prefetches whose effect was not seen yet
        std::uint64_t prefetches_seen = 0;
        Moves moves;
        bool seen = false;
        bool launched = false; ///< seen before a launch or after one
    };
    struct Ahead {
        std::uint64_t offset, bytes, syncs;
        bool to_device;
    };
    std::uint64_t expect_prefetches(Window& window, std::uint64_t first, std::uint64_t last,
                                    std::uint64_t syncs);
    static Change left(Window& window, std::uint64_t bytes, std::uint64_t significant);
    static Change came(Window& window, std::uint64_t bytes, std::uint64_t size, std::uint64_t significant);

    std::uint64_t bytes_;
    std::uint64_t samples_ = 0;
    bool on_host_ = false;
    std::map<std::pair<std::uint64_t, std::uint64_t>, Window> windows_; ///< by offset and pages
    std::vector<Ahead> prefetches_;
    std::uint64_t prefetches_dropped_ = 0; ///< of the front of prefetches_
};

} // namespace umadvisor::model
