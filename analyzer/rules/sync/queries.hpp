/// Questions to the driver, by where they are asked.
#pragma once

#include "analyzer/facts/cached_map.hpp"
#include "analyzer/ids/call_site.hpp"
#include "trace/event_records.hpp"

#include <algorithm>
#include <cstdint>
#include <map>

namespace umadvisor::rules {

struct QueryTotals {
    std::uint64_t count = 0, ticks = 0;
    std::uint64_t longest_ticks = 0; ///< of one call
};

/// Memory: one entry a call site.
class Queries {
public:
    void add(const trace::Query& record) {
        QueryTotals& totals = sites_[{record.stack, record.entry}];
        ++totals.count;
        totals.ticks += record.duration;
        totals.longest_ticks = std::max(totals.longest_ticks, record.duration);
    }

    const std::map<ids::CallSite, QueryTotals>& sites() const { return sites_.map(); }

private:
    facts::CachedMap<std::map<ids::CallSite, QueryTotals>> sites_;
};

} // namespace umadvisor::rules
