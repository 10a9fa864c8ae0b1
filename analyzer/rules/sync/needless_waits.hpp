/// Waits behind which the host could have gone on at once: all that they waited for stays on the device.
#pragma once

#include "analyzer/facts/cached_map.hpp"
#include "analyzer/facts/per_thread.hpp"
#include "analyzer/ids/call_site.hpp"
#include "analyzer/reader/thread_cursor.hpp"
#include "trace/memory_records.hpp"

#include <array>
#include <cstdint>
#include <unordered_map>
#include <unordered_set>

namespace umadvisor::rules {

struct NeedlessTotals {
    std::uint64_t count = 0;
    std::uint64_t needless = 0; ///< of these, and the next call came at once
    std::uint64_t needless_ticks = 0;
    bool event = false; ///< the wait is for an event
};

/// What the host can see of the device's work is in memory that it can read: page-locked or managed, and what
/// asynchronous copies bring or take. A wait before a copy that waits itself costs next to nothing, nor does
/// one with nothing to wait for, of which IdleSyncs tells: they do not count. Work that the trace does not tell
/// in full is taken to be visible. Memory: one entry a call site, live event and live allocation that the host
/// can read.
class NeedlessWaits {
public:
    explicit NeedlessWaits(double ns_per_tick);

    void add(const trace::Alloc& record);
    void add(const trace::Free& record);
    void add(const trace::Copy& record, std::uint32_t thread);
    void add(const trace::Set& record, std::uint32_t thread);
    void add(const trace::Sync& record, std::uint32_t thread);
    void add(const trace::Event& record, std::uint32_t thread);
    void add(const trace::Prefetch& record, std::uint32_t thread) { unknown(record.start, thread); }
    void add(const trace::GraphLaunch& record, std::uint32_t thread) { unknown(record.start, thread); }
    void add(const trace::HostFunction& record, std::uint32_t thread) { unknown(record.start, thread); }
    void add(const trace::Ipc&) { always_visible_ = true; }
    void add(const trace::Pause&) { pending_.clear(); }
    void add(const trace::Stream& record, std::uint32_t thread) { next(record.start, thread); }
    /// `shape`: nullptr where it is lost.
    void launch(const trace::Launch& record, const reader::Shape* shape, std::uint32_t thread);

    using Sites = std::unordered_map<ids::CallSite, NeedlessTotals, ids::CallSiteHash>;
    const Sites& sites() const { return sites_.map(); }

private:
    /// A wait of which only the next call of its thread is not known yet.
    struct Pending {
        NeedlessTotals* totals = nullptr;
        std::uint64_t ticks = 0, end = 0;
    };
    struct Recent {
        const reader::Shape* shape = nullptr;
        std::uint64_t generation = 0;
        bool visible = false;
    };
    void next(std::uint64_t start, std::uint32_t thread, bool waits_itself = false);
    void unknown(std::uint64_t start, std::uint32_t thread);
    void see(std::uint64_t stream);
    bool is_visible(const reader::Shape* shape);

    std::uint64_t at_once_ticks_;
    facts::CachedMap<Sites> sites_;
    facts::PerThread<Pending> pending_;
    std::unordered_set<std::uint64_t> readable_; ///< live page-locked allocations
    std::unordered_set<std::uint64_t> managed_;  ///< live; kernels may reach them by any pointer
    bool always_visible_ = false;
    bool queued_ = false;                 ///< since the last wait, something that its call does not wait for
    std::uint64_t seen_ = 0, waited_ = 0; ///< visible work by number; so much of it has been waited for
    std::uint64_t stream_ = 0;            ///< of the visible work that was not waited for
    bool one_stream_ = true;              ///< all of that is of stream_
    std::unordered_map<std::uint64_t, std::uint64_t> recorded_; ///< by event, seen_ when it was recorded
    std::array<Recent, 256> recent_{};
    std::uint64_t generation_ = 1; ///< of readable_
};

} // namespace umadvisor::rules
