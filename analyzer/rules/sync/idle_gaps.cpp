#include "analyzer/rules/sync/idle_gaps.hpp"
#include "analyzer/facts/waiting.hpp"

#include "analyzer/facts/at_once.hpp"
#include "analyzer/facts/direction.hpp"
#include "analyzer/tables/copies.hpp"

#include <algorithm>
#include <utility>

namespace umadvisor::rules {
namespace {

/// Shorter waits and gaps are calls, not turns.
constexpr double least_wait_ns = 20'000, least_gap_ns = 50'000;
/// A free with nothing to wait for takes no longer than this, or than the quickest of the trace.
constexpr double most_own_free_ns = 200'000;
/// A copy's own time: that of its bytes, and of its call. A call that took at most the larger figure beyond its
/// bytes may not have waited.
constexpr double pageable_bytes_per_ns = 10, pinned_bytes_per_ns = 50;
constexpr double copy_call_ns = 7'000, most_copy_call_ns = 20'000;

} // namespace

void IdleGaps::queue(std::uint32_t thread, ids::StackId stack, trace::StreamId stream, std::uint64_t start,
                     Concern concern) {
    if (!std::exchange(begun_, true))
        thread_ = thread;
    many_threads_ |= thread != thread_;
    if (std::exchange(open_, false) && !many_threads_) {
        const std::uint64_t idle = count_turn(start);
        if (nanoseconds(idle) >= least_gap_ns) {
            GapTotals& totals = sites_[site_];
            ++totals.gaps;
            totals.queued += waited_for_;
            totals.waited_ticks += waited_ticks_;
            totals.idle_ticks += idle;
            totals.overlap_ticks += std::min(waited_ticks_, idle);
            totals.next_stack = stack;
            totals.behind.insert(passed_waits_.begin(), passed_waits_.end());
        }
    }
    if (queued_ == 0)
        behind_idle_wait_ =
            idle_wait_end_ != 0 && nanoseconds(start - std::min(start, idle_wait_end_)) < facts::at_once_ns;
    mixed_ |= queued_ != 0 && stream != stream_;
    stream_ = stream;
    ++queued_;
    last_event_ = 0;
    concern_ = std::max(concern_, concern);
}

std::uint64_t IdleGaps::count_turn(std::uint64_t now) {
    const std::uint64_t gap = now - std::min(now, gap_start_);
    const std::uint64_t idle = gap - std::min(gap, passed_ticks_);
    if (nanoseconds(idle) >= least_gap_ns && !std::exchange(counted_, true))
        sites_[site_].turn_ticks += duration_;
    return idle;
}

void IdleGaps::end_window() {
    queued_ = 0;
    mixed_ = joined_ = event_first_ = behind_idle_wait_ = false;
    concern_ = Concern::none;
}

void IdleGaps::wait(const GapSite& site, std::uint64_t end, std::uint64_t duration, std::uint64_t waited,
                    bool covers) {
    if (open_) // nothing was queued since the wait before it
        return;
    open_ = covers && queued_ != 0 && concern_ != Concern::managed && nanoseconds(waited) >= least_wait_ns;
    if (!covers)
        return;
    if (site.reason == WaitReason::needless && is_timed(site.call)) {
        open_ = false;
        return end_window();
    }
    if (queued_ != 0 && concern_ != Concern::managed)
        ++sites_[site].calls;
    site_ = site;
    gap_start_ = end;
    duration_ = duration;
    counted_ = false;
    waited_ticks_ = waited;
    passed_ticks_ = 0;
    waited_for_ = queued_;
    passed_waits_.clear();
    end_window();
}

void IdleGaps::add(const Launched& launched) {
    const auto& [record, shape, group, thread] = launched;
    if (many_threads_ || record.status != 0 || launched.is_node())
        return;
    Concern concern = Concern::none;
    if (shape == nullptr || !shape->scanned || shape->untold != 0)
        concern = Concern::managed; // or anything else
    else if (!managed_.empty() || !host_.empty())
        for (const trace::AllocationId allocation : shape->touched)
            concern = std::max(concern, managed_.contains(allocation) ? Concern::managed
                                        : host_.contains(allocation)  ? Concern::results
                                                                      : Concern::none);
    queue(thread, shape != nullptr ? shape->stack : ids::StackId(),
          shape != nullptr ? shape->stream : trace::StreamId{}, record.start, concern);
}

void IdleGaps::add(const trace::Copy& record, std::uint32_t thread) {
    if (many_threads_ || record.status != 0 || record.captured != 0)
        return;
    const bool managed =
        record.source_memory == trace::Memory::managed || record.destination_memory == trace::Memory::managed;
    const bool host =
        facts::is_host_memory(record.source_memory) || facts::is_host_memory(record.destination_memory);
    const bool pageable =
        record.source_memory == trace::Memory::pageable || record.destination_memory == trace::Memory::pageable;
    const bool alone = queued_ == 0;
    const bool looked_at_first = // recording looks at pageable memory and at batches after the call
        facts::is_host_memory(record.source_memory) && record.source_memory != trace::Memory::pageable &&
        record.batch == 0;
    if (looked_at_first)
        pass(record.content.look_duration);
    if (record.source < results_end_ && record.source + record.bytes > results_ &&
        site_.reason == WaitReason::results)
        open_ = false;
    if (facts::is_host_memory(record.destination_memory) && site_.reason == WaitReason::needless)
        open_ = false;
    queue(thread, ids::StackId::of(record), record.stream, record.start,
          managed                                            ? Concern::managed
          : facts::is_host_memory(record.destination_memory) ? Concern::results
          : host                                             ? Concern::inputs
                                                             : Concern::none);
    if (facts::is_host_memory(record.destination_memory)) {
        results_ = record.destination;
        results_end_ = results_ + record.bytes;
    }
    if (!host || (record.asynchronous != 0 && !pageable))
        return;
    // Other rules report the time of the copy's bytes, and for small copies the whole call.
    const double bytes_ns =
        static_cast<double>(record.bytes) / (pageable ? pageable_bytes_per_ns : pinned_bytes_per_ns);
    const double beyond_ns = nanoseconds(record.duration) - bytes_ns;
    const bool waited =
        !alone && record.bytes >= tables::small_copy_bytes && beyond_ns >= most_copy_call_ns + least_wait_ns;
    const bool asked = facts::is_host_memory(record.destination_memory) && record.asynchronous == 0;
    wait({ids::CallSite::of(record), asked ? WaitReason::results : WaitReason::unasked},
         record.start + record.duration, record.duration,
         waited ? static_cast<std::uint64_t>((beyond_ns - copy_call_ns) / ns_per_tick_) : 0,
         on_one_stream(record.stream));
    if (!looked_at_first)
        pass(record.content.look_duration);
}

void IdleGaps::add(const trace::Sync& record, std::uint32_t thread) {
    if (many_threads_ || thread != thread_)
        return;
    if (record.status == 0 && facts::waits_for_work(record) &&
        (queued_ == 0 || nanoseconds(record.duration) < least_wait_ns)) {
        idle_wait_ = ids::CallSite::of(record);
        idle_wait_end_ = record.start + record.duration;
    }
    const bool stream = record.kind == trace::SyncKind::stream, event = record.kind == trace::SyncKind::event;
    if (open_ || record.status != 0 || (!stream && !event && record.kind != trace::SyncKind::context)) {
        pass_wait(ids::CallSite::of(record), record.start, record.duration);
        return;
    }
    const bool covers = stream  ? on_one_stream(record.of_stream())
                        : event ? !mixed_ && record.object == last_event_
                                : true;
    wait({ids::CallSite::of(record), reason_of_sync()}, record.start + record.duration, record.duration,
         record.duration, covers);
}

void IdleGaps::add(const trace::Free& record) {
    if (many_threads_)
        return;
    host_.erase(record.allocation);
    managed_.erase(record.allocation);
    if (record.status != 0 || record.captured != 0 || record.part != 0)
        return;
    // One in the order of a stream does not wait.
    if (open_ || nanoseconds(record.duration) < least_wait_ns) {
        pass_wait(ids::CallSite::of(record), record.start, record.duration);
        quickest_free_ = std::min(quickest_free_, record.duration);
        return;
    }
    quickest_free_ = std::min(quickest_free_, record.duration);
    const double own_ns = std::min(nanoseconds(quickest_free_), most_own_free_ns);
    const double waited_ns = std::max(0.0, nanoseconds(record.duration) - own_ns);
    wait({ids::CallSite::of(record), WaitReason::freed}, record.start + record.duration, record.duration,
         static_cast<std::uint64_t>(waited_ns / ns_per_tick_), true);
}

void IdleGaps::add(const trace::Alloc& record) {
    if (record.part == 0)
        pass(record.duration);
    if (many_threads_ || record.status != 0)
        return;
    if (record.memory == trace::Memory::managed)
        managed_.insert(record.allocation);
    else if (facts::is_host_memory(record.memory))
        host_.insert(record.allocation);
}

void IdleGaps::add(const trace::Set& record, std::uint32_t thread) {
    if (record.status == 0 && record.captured == 0)
        queue(thread, ids::StackId::of(record), record.stream, record.start,
              record.memory == trace::Memory::device ? Concern::none : Concern::managed);
}

/// Work that is queued in the stream from here on comes after all queued work, as if that were in this stream.
void IdleGaps::add(const trace::Stream& record) {
    if (record.action != trace::StreamAction::wait_event || record.status != 0 || record.captured != 0 ||
        record.event != last_event_ || last_event_ == 0)
        return;
    joined_ = record.stream != stream_;
    stream_ = record.stream;
}

void IdleGaps::add(const trace::Event& record) {
    if (record.action != trace::EventAction::record)
        return;
    if (queued_ == 0)
        event_first_ = true;
    else if (on_one_stream(record.stream))
        last_event_ = record.event;
}

} // namespace umadvisor::rules
