/// Pageable memory that the program hands to kernels, and what of it it prefetches, on devices whose kernels
/// reach it.
#pragma once

#include "analyzer/ids/call_site.hpp"
#include "analyzer/reader/thread_cursor.hpp"
#include "analyzer/rules/counter.hpp"
#include "trace/event_records.hpp"

#include <compare>
#include <cstdint>
#include <map>

namespace umadvisor::rules {

struct PageableUse {
    ids::CallSite call;
    std::uint64_t host_range = 0;
    auto operator<=>(const PageableUse&) const = default;
};

struct PageableTotals {
    std::uint64_t count = 0;
    std::uint64_t bytes = 0;    ///< of prefetches
    std::uint64_t function = 0; ///< of the last launch
};

/// Memory: one entry a call site and host range.
class PageableUses : public Counter {
public:
    void add(const Launched& launched) {
        const reader::Shape* const shape = launched.shape;
        if (launched.record.status != 0 || shape == nullptr)
            return;
        for (const std::uint64_t range : shape->host_ranges) {
            PageableTotals& totals = launches_[{ids::CallSite::of(*shape), range}];
            ++totals.count;
            totals.function = shape->function;
        }
    }
    void add(const trace::Prefetch& record) {
        if (record.status != 0 || record.host_range == 0 || known(record.allocation) ||
            record.location != trace::Location::device || record.origin != trace::Origin::program)
            return;
        PageableTotals& totals = prefetches_[{ids::CallSite::of(record), record.host_range}];
        ++totals.count;
        totals.bytes += record.bytes;
    }

    const std::map<PageableUse, PageableTotals>& launches() const { return launches_; }
    const std::map<PageableUse, PageableTotals>& prefetches() const { return prefetches_; } ///< to a device

private:
    std::map<PageableUse, PageableTotals> launches_, prefetches_;
};

} // namespace umadvisor::rules
