/// Gaps in the device's work after calls that waited for it, by the call that waited.
#pragma once

#include "analyzer/ids/call_site.hpp"
#include "analyzer/rules/counter.hpp"

#include <compare>
#include <cstdint>
#include <map>
#include <set>
#include <unordered_set>

namespace umadvisor::rules {

/// Why a call waited.
enum class WaitReason : std::uint8_t {
    needless, ///< a synchronisation, though the host gets nothing of what it waited for and may overwrite
              ///< nothing
    inputs,   ///< a synchronisation for an upload, whose stream had been made to wait for all other work before
    results,  ///< a synchronisation or a copy to the host, of work that the host may have asked results of
    unasked,  ///< the call is there for something else: a copy behind other work
    freed,    ///< the call is there to free memory
};

struct GapSite {
    ids::CallSite call;
    WaitReason reason{};
    auto operator<=>(const GapSite&) const = default;
};

struct GapTotals {
    std::uint64_t gaps = 0;
    std::uint64_t calls = 0;      ///< that waited for this reason, with or without a gap after them
    std::uint64_t queued = 0;     ///< launches and copies that the waits before the gaps were for
    std::uint64_t turn_ticks = 0; ///< that calls took after which the host worked, be it until it waited again
    std::uint64_t waited_ticks = 0;  ///< by the host, before the gaps
    std::uint64_t idle_ticks = 0;    ///< by the device: until the host queued the next, without its CUDA calls
    std::uint64_t overlap_ticks = 0; ///< of each pair of them the shorter: what overlapping would hide
    ids::StackId next_stack{};       ///< of the call that ended the last gap
    std::set<ids::CallSite>
        behind; ///< frees and synchronisations in the gaps: without the wait these would wait
};

/// Follows the events in the order of time. It counts programs in which one thread alone queues work, since of
/// other programs the trace does not show when the device was idle. A wait counts if it covers all that was
/// queued since the last wait; a stream that waits for an event behind all of that stands for it. Work on
/// managed memory is left to the rules on managed memory. Three kinds of gap do not count: the host works on
/// results that it then gives back, so the device has to wait for them; the gap ends in a download of what a
/// needless wait waited for, so the host reads that next; the wait before the gap ends a measurement. Memory:
/// one entry for each call site and one for each live allocation that the host can reach.
class IdleGaps : public Counter {
public:
    static constexpr bool wants_nodes = true; ///< the host makes these calls, too

    explicit IdleGaps(const Begin& begin) : ns_per_tick_(begin.ns_per_tick) {}

    void add(const trace::Copy& record, std::uint32_t thread);
    void add(const trace::Set& record, std::uint32_t thread);
    void add(const trace::Sync& record, std::uint32_t thread);
    void add(const trace::Event& record);
    void add(const trace::Stream& record);
    void add(const trace::Alloc& record);
    void add(const trace::Free& record);
    void add(const trace::Content& record) { pass(record.content.look_duration); }
    void add(const trace::Pause&) { open_ = false; }
    void add(const trace::GraphLaunch& record, std::uint32_t thread) { queue_unknown(record, thread); }
    void add(const trace::HostFunction& record, std::uint32_t thread) { queue_unknown(record, thread); }
    void add(const trace::Prefetch& record, std::uint32_t thread) { queue_unknown(record, thread); }
    void add(const Launched& launched);

    const std::map<GapSite, GapTotals>& sites() const { return sites_; }

private:
    /// What of the work queued since the last wait concerns the host.
    enum class Concern : std::uint8_t {
        none,
        inputs, ///< the host may write the source of an upload anew
        results,
        managed
    };

    /// Work that may concern anything.
    template <class Record>
    void queue_unknown(const Record& record, std::uint32_t thread) {
        queue(thread, ids::StackId::of(record), record.stream, record.start, Concern::managed);
    }
    void queue(std::uint32_t thread, ids::StackId stack, trace::StreamId stream, std::uint64_t start,
               Concern concern);
    /// A call that ended at `end` and `waited` for part of its `duration`. `covers`: all that was queued.
    void wait(const GapSite& site, std::uint64_t end, std::uint64_t duration, std::uint64_t waited,
              bool covers);
    void end_window();
    /// Leaves time out of a gap: a call that other rules report, or the time of recording.
    void pass(std::uint64_t duration) { passed_ticks_ += duration; }
    /// Leaves out a call that would wait if the work were not done yet.
    void pass_wait(const ids::CallSite& site, std::uint64_t start, std::uint64_t duration) {
        if (open_) {
            count_turn(start);
            passed_waits_.insert(site);
        }
        pass(duration);
    }
    /// How long the host worked from the wait to `now`; if long enough, the wait is counted, once.
    std::uint64_t count_turn(std::uint64_t now);
    /// Whether the program measures the work's time: by events before and after it, or by its clock, from a
    /// wait with nothing to wait for, after which the work was queued at once.
    bool is_timed(const ids::CallSite& wait) const {
        return (event_first_ && last_event_ != 0) || (behind_idle_wait_ && idle_wait_ != wait);
    }
    WaitReason reason_of_sync() const {
        return concern_ == Concern::none                ? WaitReason::needless
               : joined_ && concern_ == Concern::inputs ? WaitReason::inputs
                                                        : WaitReason::results;
    }
    bool on_one_stream(trace::StreamId stream) const { return !mixed_ && stream_ == stream; }
    double nanoseconds(std::uint64_t ticks) const { return static_cast<double>(ticks) * ns_per_tick_; }

    double ns_per_tick_;
    std::map<GapSite, GapTotals> sites_;
    std::unordered_set<trace::AllocationId> managed_, host_; ///< live allocations: managed, page-locked
    bool begun_ = false, many_threads_ = false;              ///< with many threads nothing more is counted
    std::uint32_t thread_ = 0;                               ///< that queues work
    // Queued since the last wait:
    std::uint64_t queued_ = 0;
    trace::StreamId stream_{};
    std::uint64_t last_event_ = 0; ///< recorded behind all of it; 0: none
    bool mixed_ = false;           ///< on several streams
    bool joined_ = false;          ///< stream_ waits for another, which was given work
    Concern concern_{};
    bool event_first_ = false;      ///< an event was recorded before all of it
    bool behind_idle_wait_ = false; ///< at once
    ids::CallSite idle_wait_;       ///< the last wait that found nothing to wait for
    std::uint64_t idle_wait_end_ = 0;
    // The gap that may have begun:
    bool open_ = false;
    GapSite site_;
    std::uint64_t gap_start_ = 0, duration_ = 0, waited_ticks_ = 0, passed_ticks_ = 0;
    std::uint64_t waited_for_ = 0; ///< launches and copies
    bool counted_ = false;         ///< the wait before it
    std::set<ids::CallSite> passed_waits_;
    std::uint64_t results_ = 0, results_end_ = 0; ///< where the last copy to the host went
    std::uint64_t quickest_free_ = UINT64_MAX;    ///< ticks
};

} // namespace umadvisor::rules
