/// Queries of streams and events, by where they were called.
#pragma once

#include "analyzer/model/cached_map.hpp"
#include "analyzer/model/per_thread.hpp"
#include "analyzer/model/waits.hpp"

#include <cstdint>
#include <map>

namespace umadvisor::model {

struct PollTotals {
    std::uint64_t queries = 0, not_ready = 0;
    std::uint64_t not_ready_ticks = 0; ///< in the calls that answered so
    std::uint64_t between_ticks = 0;   ///< from such an answer to the next query of the same object
};

/// Memory: one entry a call site and one a thread.
class Polls {
public:
    void add(const trace::Sync& record, std::uint32_t thread);

    const std::map<CallSite, PollTotals>& sites() const { return sites_.map(); }

private:
    struct Last {
        std::uint64_t object = 0, end = 0;
        bool not_ready = false;
    };
    CachedMap<std::map<CallSite, PollTotals>> sites_;
    PerThread<Last> last_;
};

} // namespace umadvisor::model
