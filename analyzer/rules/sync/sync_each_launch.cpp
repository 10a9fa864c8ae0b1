/// Waits though the host reads nothing of what they wait for: launches that could queue up wait for each other.
#include "analyzer/facts/at_once.hpp"
#include "analyzer/facts/cached_map.hpp"
#include "analyzer/facts/direction.hpp"
#include "analyzer/facts/per_thread.hpp"
#include "analyzer/facts/waiting.hpp"
#include "analyzer/ids/call_site.hpp"
#include "analyzer/reader/saturated.hpp"
#include "analyzer/reader/thread_cursor.hpp"
#include "analyzer/rules/counter.hpp"
#include "analyzer/rules/edited_calls.hpp"
#include "analyzer/rules/finding.hpp"
#include "analyzer/rules/python/python_statements.hpp"
#include "analyzer/rules/unknown_work.hpp"
#include "analyzer/rules/words.hpp"
#include "analyzer/tables/copies.hpp"
#include "trace/memory_records.hpp"

#include <algorithm>
#include <array>
#include <cstdint>
#include <map>
#include <unordered_map>
#include <unordered_set>
#include <utility>

namespace umadvisor::rules {
namespace {

struct NeedlessTotals {
    std::uint64_t count = 0;
    std::uint64_t needless = 0; ///< of these, and the next call came at once
    std::uint64_t needless_ticks = 0;
    bool event = false; ///< the wait is for an event
};

/// The host can see the device's work in memory that it can read, page-locked or managed, and by asynchronous
/// copies. Some waits do not count: one before a copy or a free that waits itself costs next to nothing;
/// IdleSyncs counts one with nothing to wait for; one behind uploads of pageable memory alone forms a
/// synchronous copy with them. Work that the trace does not record in full counts as visible. Memory: one entry
/// a call site, live event and live allocation that the host can read.
class NeedlessWaits : public Counter {
public:
    static constexpr bool wants_nodes = true; ///< the host makes these calls, too

    explicit NeedlessWaits(const Begin& begin);

    void add(const trace::Alloc& record);
    void add(const trace::Free& record, std::uint32_t thread);
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
    void add(const Launched& launched);

    using Sites = std::unordered_map<ids::CallSite, NeedlessTotals>;
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
    void see(trace::StreamId stream);
    bool is_visible(const reader::Shape* shape);

    std::uint64_t at_once_ticks_;
    const reader::Dictionary& dictionary_;
    facts::CachedMap<Sites> sites_;
    facts::PerThread<Pending> pending_;
    std::unordered_set<trace::AllocationId> readable_; ///< live page-locked allocations
    std::unordered_set<trace::AllocationId> managed_;  ///< live; kernels may reach them by any pointer
    bool always_visible_ = false;
    bool queued_ = false;                 ///< since the last wait, something that its call does not wait for
    std::uint64_t seen_ = 0, waited_ = 0; ///< visible work by number; so much of it has been waited for
    trace::StreamId stream_{};            ///< of the visible work that was not waited for
    bool one_stream_ = true;              ///< all of that is of stream_
    std::unordered_map<std::uint64_t, std::uint64_t> recorded_; ///< by event, seen_ when it was recorded
    std::array<Recent, 256> recent_{};
    std::uint64_t generation_ = 1; ///< of readable_
};

NeedlessWaits::NeedlessWaits(const Begin& begin)
    : at_once_ticks_(reader::saturated(facts::at_once_ns / begin.ns_per_tick)), dictionary_(begin.dictionary) {}

void NeedlessWaits::add(const trace::Alloc& record) {
    if (record.status != 0)
        return;
    if (record.memory == trace::Memory::managed) {
        always_visible_ |= record.symbol != 0; // a variable, which kernels reach without a parameter
        managed_.insert(record.allocation);
    } else if (facts::is_page_locked(record.memory)) {
        readable_.insert(record.allocation);
        ++generation_;
    } else if (record.memory != trace::Memory::device) {
        always_visible_ = true;
    }
}

void NeedlessWaits::add(const trace::Free& record, std::uint32_t thread) {
    next(record.start, thread, record.captured == 0 && !dictionary_.is_stream_ordered(record.entry));
    if (record.status != 0)
        return;
    managed_.erase(record.allocation);
    generation_ += readable_.erase(record.allocation);
}

/// `start`: of a call of the thread.
void NeedlessWaits::next(std::uint64_t start, std::uint32_t thread, bool waits_itself) {
    Pending* const pending = pending_.find(thread);
    if (pending == nullptr || pending->totals == nullptr)
        return;
    if (!waits_itself && start < pending->end + at_once_ticks_) {
        ++pending->totals->needless;
        pending->totals->needless_ticks += pending->ticks;
    }
    pending->totals = nullptr;
}

void NeedlessWaits::see(trace::StreamId stream) {
    one_stream_ = (one_stream_ && stream == stream_) || seen_ == waited_;
    stream_ = stream;
    queued_ = true;
    ++seen_;
}

void NeedlessWaits::unknown(std::uint64_t start, std::uint32_t thread) {
    next(start, thread);
    see(facts::legacy_stream);
    one_stream_ = false;
}

void NeedlessWaits::add(const trace::Copy& record, std::uint32_t thread) {
    // The driver returns from a copy to pageable memory when the bytes have arrived, whatever the call's name.
    const bool arrives = record.destination_memory == trace::Memory::pageable;
    next(record.start, thread, record.asynchronous == 0 || arrives);
    if (record.status != 0 || record.captured != 0 || record.asynchronous == 0)
        return;
    if (record.source_memory == trace::Memory::pageable && record.destination_memory == trace::Memory::device)
        return;
    queued_ = true;
    if (record.source_memory != trace::Memory::device || record.destination_memory != trace::Memory::device)
        see(record.stream);
}

void NeedlessWaits::add(const trace::Set& record, std::uint32_t thread) {
    next(record.start, thread);
    queued_ = true;
    if (record.status == 0 && record.captured == 0 && record.asynchronous != 0 &&
        record.memory != trace::Memory::device)
        see(record.stream);
}

bool NeedlessWaits::is_visible(const reader::Shape* shape) {
    if (shape == nullptr || !shape->scanned || shape->untold != 0 || !managed_.empty() || always_visible_)
        return true;
    Recent& recent = recent_[shape->number % recent_.size()];
    if (recent.shape != shape || recent.generation != generation_) {
        recent = {shape, generation_, false};
        for (const trace::AllocationId allocation : shape->touched)
            recent.visible |= readable_.contains(allocation);
    }
    return recent.visible;
}

void NeedlessWaits::add(const Launched& launched) {
    const reader::Shape* const shape = launched.shape;
    next(launched.record.start, launched.thread);
    queued_ = true;
    if (launched.record.status == 0 && (shape == nullptr || !shape->captured) && is_visible(shape))
        see(shape == nullptr ? facts::legacy_stream : shape->stream);
}

void NeedlessWaits::add(const trace::Event& record, std::uint32_t thread) {
    next(record.start, thread);
    if (record.status != 0 || record.captured != 0)
        return;
    if (record.action == trace::EventAction::record) {
        recorded_[record.event] = seen_;
        queued_ = true;
    } else if (record.action == trace::EventAction::destroy) {
        recorded_.erase(record.event);
    }
}

void NeedlessWaits::add(const trace::Sync& record, std::uint32_t thread) {
    next(record.start, thread);
    if (!facts::waits_for_work(record) || record.status != 0)
        return;
    NeedlessTotals& totals = sites_[ids::CallSite::of(record)];
    ++totals.count;
    totals.event = record.kind == trace::SyncKind::event;
    const std::uint64_t seen = seen_;
    if (std::exchange(queued_, false) && seen == waited_ && !always_visible_)
        pending_[thread] = {&totals, record.duration, record.start + record.duration};
    if (record.kind == trace::SyncKind::context ||
        (record.kind == trace::SyncKind::stream && one_stream_ && record.of_stream() == stream_))
        waited_ = seen;
    else if (const auto found = recorded_.find(record.object); record.kind == trace::SyncKind::event &&
                                                               one_stream_ && found != recorded_.end() &&
                                                               found->second == seen)
        waited_ = seen;
}

struct NeedlessLine {
    std::uint64_t count = 0, needless = 0, entry = 0;
    double ns = 0;
    bool event = false;
};

Finding describe(const Profile& profile, const std::map<ids::StackId, NeedlessLine>& lines) {
    NeedlessLine all;
    const auto longest = std::ranges::max_element(lines, {}, [](const auto& each) { return each.second.ns; });
    bool events = true;
    for (const auto& [stack, line] : lines) {
        all.count += line.count;
        all.needless += line.needless;
        all.ns += line.ns;
        events &= line.event;
    }
    Finding finding;
    finding.rule = &uma_506;
    finding.title = finding.rule->title;
    finding.stack = longest->first;
    finding.summary = fmt::format("{} and others, {} at {}: the awaited results stay on the device, "
                                  "and the next call follows at once; {} in these waits",
                                  profile.call_name(longest->second.entry), count_text(all.needless, "time"),
                                  count_text(lines.size(), "line"), time_text(all.ns));
    if (lines.size() == 1)
        finding.summary = fmt::format("{} {}: the awaited results stay on the device, and the next "
                                      "call follows at once; {} in these waits",
                                      profile.call_name(longest->second.entry),
                                      count_text(all.needless, "time"), time_text(all.ns));
    finding.evidence = {{"synchronizations", static_cast<double>(all.count)},
                        {"needless", static_cast<double>(all.needless)},
                        {"lines", static_cast<double>(lines.size())},
                        {"time_ns", all.ns}};
    for (const auto& [stack, line] : lines)
        if (stack != finding.stack)
            finding.places.emplace_back(count_text(line.needless, "wait") + ", " + time_text(line.ns), stack);
    finding.advice = events
                         ? "record one pair of events around the loop; or, for the time of each launch, a pair "
                           "for each, wait for the last one after the loop, and read the times then"
                         : "remove these waits: a stream keeps its work in order, and a synchronous copy of "
                           "the result waits anyway; where the times of events are read, wait once, after the "
                           "last launch, and read them there";
    finding.basis = "replay of the run without these waits";
    finding.confidence = Confidence::medium;
    return finding;
}

} // namespace

std::vector<Finding> find_sync_each_launch(const Profile& profile, const LineOf& line_of) {
    if (work_is_unknown(profile))
        return {};
    std::map<ids::StackId, NeedlessLine> lines;
    EditedCalls calls;
    for (const auto& [site, totals] : profile.counted<NeedlessWaits>().sites()) {
        // The statement that uploads a constant goes with its wait, which is the framework's.
        if (totals.needless == 0 || waits_for_constant_upload(profile, site))
            continue;
        NeedlessLine& line = lines[line_of(site.stack)];
        line.count += totals.count;
        line.needless += totals.needless;
        line.entry = site.entry;
        line.ns += static_cast<double>(profile.nanoseconds(totals.needless_ticks));
        line.event = totals.event;
        calls.add(site, totals.needless, totals.count);
    }
    double all_ns = 0;
    for (const auto& [stack, line] : lines)
        all_ns += line.ns;
    if (all_ns < least_saving_ns)
        return {};
    Finding finding = describe(profile, lines);
    finding.saving_ns = all_ns;
    finding.edit = calls.gone(profile);
    return {std::move(finding)};
}

constinit const Rule uma_506{.id = "UMA-506",
                             .name = "sync-each-launch",
                             .title = "waits for results that the host does not read",
                             .find = &find_sync_each_launch,
                             .counter = &count<NeedlessWaits>,
                             .order = OrderUse::wait};

} // namespace umadvisor::rules
