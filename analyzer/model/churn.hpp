/// Device and managed memory that is allocated and freed again and again, and host memory that is page-locked
/// and unlocked, by where that was.
#pragma once

#include "analyzer/model/cached_map.hpp"
#include "analyzer/model/waits.hpp"
#include "analyzer/reader/dictionary.hpp"
#include "analyzer/reader/flat_map.hpp"

#include <compare>
#include <cstdint>
#include <map>

namespace umadvisor::model {

struct ChurnSite {
    std::uint64_t stack = 0, entry = 0;
    trace::Memory memory{}; ///< device, managed, pinned or registered
    auto operator<=>(const ChurnSite&) const = default;
};

struct ChurnTotals {
    std::uint64_t pairs = 0, bytes = 0; ///< allocated and freed again
    std::uint64_t alloc_ticks = 0, lifetime_ticks = 0;
    std::uint64_t live = 0, peak_live = 0;
    std::uint64_t idle_frees = 0, idle_ticks = 0; ///< with nothing queued since the last synchronisation
    std::uint64_t busy_frees = 0, busy_ticks = 0; ///< those may wait for what was queued
    std::uint64_t quickest_busy = 0;
    std::uint64_t first = 0, last = 0; ///< ticks: the first allocation, and the end of the last free
    /// Of the pairs whose memory was the largest: this would serve all others.
    std::uint64_t largest_bytes = 0, largest_pairs = 0, largest_alloc_ticks = 0, largest_free_ticks = 0;
    std::uint64_t free_stack = 0, free_entry = 0; ///< of the last

    std::uint64_t free_ticks() const { return idle_ticks + busy_ticks; }
    /// Of free_ticks(), what the frees cost by themselves.
    double own_free_ticks() const;
    /// What the calls of one round cost whose memory is the largest and stays.
    double kept_ticks() const;
};

/// Not what is ordered in streams or mapped by the program itself. Memory: one entry a site and one a live
/// allocation.
class Churn {
public:
    /// `dictionary` must outlive it.
    explicit Churn(const reader::Dictionary& dictionary) : dictionary_(dictionary) {}

    void add(const trace::Alloc& record);
    void add(const trace::Free& record);
    void add(const trace::Copy& record) { queued_ |= record.asynchronous != 0; }
    void add(const trace::Sync& record) { queued_ &= record.status != 0 || !waits_for_work(record); }
    void add(const trace::Launch&) { queued_ = true; }
    void add(const trace::GraphLaunch&) { queued_ = true; }
    void add(const trace::Set&) { queued_ = true; }
    void add(const trace::HostFunction&) { queued_ = true; }
    void add(const trace::Prefetch&) { queued_ = true; }

    const std::map<ChurnSite, ChurnTotals>& sites() const { return sites_.map(); }

private:
    struct Live {
        ChurnTotals* totals = nullptr;
        std::uint64_t start = 0, duration = 0, bytes = 0;
    };

    const reader::Dictionary& dictionary_;
    CachedMap<std::map<ChurnSite, ChurnTotals>> sites_;
    reader::FlatMap<Live> live_;
    bool queued_ = true; ///< something may be in flight
};

} // namespace umadvisor::model
