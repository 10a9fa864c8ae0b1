/// One observation of a managed allocation's use, from whatever source.
#pragma once

#include "analyzer/facts/running_launches.hpp"

#include <cstdint>

namespace umadvisor::managed {

enum class UseKind : std::uint8_t {
    launch, ///< of a kernel that may reach it
    wait,   ///< the program has waited for such launches
    prefetch_to_device,
    prefetch_to_host,
    host_fault,
    look_before_launch, ///< or prefetch or free: at the host's page table
    look_after_wait,
    totals,  ///< the driver's, since the last ones: of all memory that was reached in between
    arrival, ///< by the driver's totals, so much must have come for launches up to the wait before it
};

/// Fields that a kind does not name are 0. Offsets are of the allocation.
struct UseStep {
    std::uint64_t time = 0; ///< ticks
    UseKind kind{};
    std::uint64_t offset = 0, bytes = 0; ///< prefetch: its range; host fault: the pages; arrival: no offset
    std::uint64_t count = 1;             ///< launches, host faults
    ids::StackId place{};                ///< host fault: frame of the instruction; prefetch: stack
    bool write = false;                  ///< host fault
    bool faults_known = false;           ///< look: had the host faulted, its faults would have been recorded
    std::uint64_t host_bytes = 0;        ///< look: mapped by the host; totals: moved to the host
    std::uint64_t content = 0;           ///< look: of what is on the host; 0: not looked at
    std::uint64_t lone_line = 0;         ///< look: the only one of its page that has changed; 0: none is known
    trace::Regularity regularity{};      ///< look: of what is there when all is on the host
    std::uint64_t since = 0;             ///< totals: when those before were recorded, ticks
    std::uint64_t device_faults = 0, evicted = 0; ///< totals; evicted: bytes that came to the host unrequested
    facts::KernelSite kernel{};                   ///< launch
    facts::WorkQueue queue{};                     ///< launch
};

} // namespace umadvisor::managed
