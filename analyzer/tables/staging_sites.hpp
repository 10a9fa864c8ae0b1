/// Call sites whose copies `--act stage` passes through pinned buffers, or could, or leaves to the driver.
#pragma once

#include "analyzer/tables/copies.hpp"

#include <cstdint>
#include <map>

namespace umadvisor::tables {

struct StagingTotals {
    Tally staged;
    Tally stageable;            ///< not staged, and the record has no reason for that
    std::uint64_t left = 0;     ///< copies that the run's plan left to the driver
    std::uint64_t given_up = 0; ///< copies left to it that was faster
};

/// Memory: one entry a site.
class StagingSites {
public:
    void add(const trace::Copy& record);

    /// By the stack of the copying call.
    const std::map<ids::StackId, StagingTotals>& sites() const { return sites_; }

private:
    std::map<ids::StackId, StagingTotals> sites_;
};

} // namespace umadvisor::tables
