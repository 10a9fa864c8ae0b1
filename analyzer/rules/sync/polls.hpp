/// Queries of streams and events, by where they were called.
#pragma once

#include "analyzer/facts/cached_map.hpp"
#include "analyzer/facts/per_thread.hpp"
#include "analyzer/ids/call_site.hpp"
#include "trace/event_records.hpp"

#include <cstdint>
#include <map>

namespace umadvisor::rules {

struct PollTotals {
    std::uint64_t queries = 0, not_ready = 0;
    std::uint64_t not_ready_ticks = 0; ///< in the calls that answered so
    std::uint64_t between_ticks = 0;   ///< from such an answer to the next query of the same object
};

/// Memory: one entry a call site and one a thread.
class Polls {
public:
    void add(const trace::Sync& record, std::uint32_t thread);

    const std::map<ids::CallSite, PollTotals>& sites() const { return sites_.map(); }

private:
    struct Last {
        std::uint64_t object = 0, end = 0;
        bool not_ready = false;
    };
    facts::CachedMap<std::map<ids::CallSite, PollTotals>> sites_;
    facts::PerThread<Last> last_;
};

} // namespace umadvisor::rules
