/// Call sites whose memory `--act rewrite` has to leave to the driver: it is shared with other processes.
#pragma once

#include "analyzer/ids/stack_id.hpp"
#include "trace/event_records.hpp"
#include "trace/memory_records.hpp"

#include <cstdint>
#include <map>

namespace umadvisor::tables {

struct ExportedTotals {
    std::uint64_t refused = 0; ///< cuIpcGetMemHandle of rewritten allocations, by the driver
    std::uint64_t left = 0;    ///< allocations that the run's plan left to the driver
};

/// Memory: one entry a live rewritten allocation, and one a site.
class ExportedSites {
public:
    void add(const trace::Alloc& record);
    void add(const trace::Free& record);
    void add(const trace::Ipc& record);

    /// By the stack of the allocating call.
    const std::map<ids::StackId, ExportedTotals>& sites() const { return sites_; }

private:
    struct Rewritten {
        std::uint64_t bytes;
        ids::StackId stack{};
    };
    std::map<std::uint64_t, Rewritten> live_; ///< by address
    std::map<ids::StackId, ExportedTotals> sites_;
};

} // namespace umadvisor::tables
