/// Allocations of device memory that failed for want of it, and how much the program then had.
#pragma once

#include "analyzer/ids/call_site.hpp"
#include "analyzer/reader/dictionary.hpp"
#include "analyzer/reader/flat_map.hpp"

#include <cstdint>
#include <map>

namespace umadvisor::rules {

struct FailureTotals {
    std::uint64_t count = 0;
    std::uint64_t bytes = 0;                       ///< asked for: the most, and of that call:
    std::uint64_t live_bytes = 0, freed_bytes = 0; ///< what the program had, and had given back before

    void add(const FailureTotals& other) {
        const std::uint64_t all = count + other.count;
        if (bytes < other.bytes)
            *this = other;
        count = all;
    }
};

/// Nothing from the first stream-ordered or managed allocation on: what a pool keeps, and how much of managed
/// memory is on the device, is not told. Memory: one entry a live allocation and one a site that failed.
class AllocationFailures {
public:
    /// `dictionary` must outlive it.
    explicit AllocationFailures(const reader::Dictionary& dictionary) : dictionary_(dictionary) {}

    void add(const trace::Alloc& record);
    void add(const trace::Free& record);

    const std::map<ids::CallSite, FailureTotals>& sites() const { return sites_; }

private:
    const reader::Dictionary& dictionary_;
    std::map<ids::CallSite, FailureTotals> sites_;
    reader::FlatMap<std::uint64_t> live_; ///< bytes
    std::uint64_t live_bytes_ = 0, freed_bytes_ = 0;
    bool untold_ = false;
};

} // namespace umadvisor::rules
