/// A job on a card of another size, under one policy.
#pragma once

#include "analyzer/whatif/job.hpp"

namespace umadvisor::whatif {

enum class Policy : std::uint8_t {
    on_demand, ///< page faults; the block that a device used longest ago is evicted
    prefetch,  ///< what `--act prefetch` plans before each launch; the rest as on demand
    optimum    ///< Belady's: what is used farthest in the future is evicted; moved at once, without faults
};

struct Moved {
    std::uint64_t to_device = 0, to_host = 0; ///< bytes
    std::uint64_t evicted_blocks = 0, remote_bytes = 0;
    std::uint64_t ns = 0; ///< all moves one after the other, without overlap
    std::uint64_t bytes() const { return to_device + to_host; }
};

/// Kernels go through all their extents in parallel, from the first block of each to the last. `capacity`:
/// bytes of device memory, including what stays on the device. Eviction writes back all pages, as the driver
/// does. Prices define a fault group: missing pages of one 2 MiB block.
Moved replay(const Job& job, Policy policy, std::uint64_t capacity, residency::Prices prices,
             const residency::Parameters& parameters);

} // namespace umadvisor::whatif
