#include "analyzer/rules/sync/idle_syncs.hpp"

#include <algorithm>

namespace umadvisor::rules {
namespace {

/// A synchronisation that took longer did wait, for work that is not in the trace.
constexpr double longest_idle_sync_ns = 50'000;
/// A launch whose call was not measured is assumed to last this long.
constexpr double unmeasured_call_ns = 100'000;
/// Streams, events and contexts that a program waits for one after the other.
constexpr std::size_t most_covers = 256;

/// On return of such a copy its bytes are where they belong (CUDA Runtime API, "API synchronization behavior").
bool is_done_on_return(const trace::Copy& copy) {
    using trace::Memory;
    const auto host = [](Memory memory) { return memory == Memory::pinned || memory == Memory::registered; };
    const bool down = copy.source_memory == Memory::device &&
                      (copy.destination_memory == Memory::pageable || host(copy.destination_memory));
    const bool up = host(copy.source_memory) && copy.destination_memory == Memory::device;
    return copy.asynchronous == 0 && (down || up);
}

} // namespace

IdleSyncs::IdleSyncs(const Begin& begin)
    : ns_per_tick_(begin.ns_per_tick),
      unmeasured_ticks_(reader::saturated(unmeasured_call_ns / ns_per_tick_)) {}

/// A call of another thread that has begun may queue its work after the synchronisation has looked.
bool IdleSyncs::others_may_be_queueing(std::uint32_t thread, std::uint64_t at) const {
    return (thread == last_thread_ ? others_end_ : std::max(last_end_, others_end_)) > at;
}

void IdleSyncs::add(const trace::Context& record, std::uint32_t thread) {
    contexts_.add(record, thread);
    if (record.action == trace::ContextAction::create_green ||
        record.action == trace::ContextAction::from_green)
        undecided_ = true;
    if (record.context == 0 || !known_contexts_.insert(record.context).second)
        return;
    // The entries so far do not distinguish contexts.
    covers_.clear();
}

const IdleSyncs::Cover* IdleSyncs::cover_of(const trace::Sync& record, std::uint64_t context,
                                            const Object& object) const {
    // The context of an event is unknown.
    if (record.kind != trace::SyncKind::event || known_contexts_.size() <= 1)
        if (const Cover* const cover = find({trace::SyncKind::context, 0, context}, record.start))
            return cover;
    return find(object, record.start);
}

const IdleSyncs::Cover* IdleSyncs::find(const Object& object, std::uint64_t before) const {
    const auto found = std::ranges::find(covers_, object, &Cover::object);
    return found != covers_.end() && found->end <= before ? &*found : nullptr;
}

void IdleSyncs::remember(const Cover& cover) {
    const auto found = std::ranges::find(covers_, cover.object, &Cover::object);
    if (found != covers_.end())
        *found = cover;
    else if (covers_.size() < most_covers)
        covers_.push_back(cover);
}

void IdleSyncs::add(const trace::Sync& record, std::uint32_t thread) {
    using trace::SyncKind;
    if (record.kind != SyncKind::context && record.kind != SyncKind::stream && record.kind != SyncKind::event)
        return;
    IdleSyncTotals& totals = sites_[ids::CallSite::of(record)];
    ++totals.count;
    const trace::StreamId stream =
        record.kind == SyncKind::stream && record.of_stream() != facts::other_legacy_stream
            ? record.of_stream()
            : facts::legacy_stream;
    std::uint64_t context = 0; // of all, as long as there is one
    if (known_contexts_.size() > 1) {
        context = contexts_.of(thread, stream).context;
        if (context == 0)
            return;
    }
    if (undecided_ || record.status != 0 || others_may_be_queueing(thread, record.start))
        return;
    const Object object{record.kind, record.kind == SyncKind::event ? record.object : number(stream),
                        record.kind == SyncKind::stream && stream == facts::stream_of_the_thread ? thread
                                                                                                 : context};
    const Cover* const cover = cover_of(record, context, object);
    if (cover != nullptr && static_cast<double>(record.duration) * ns_per_tick_ <= longest_idle_sync_ns) {
        ++totals.redundant;
        totals.redundant_ticks += record.duration;
        totals.covered_by = cover->stack;
        return; // what covers it goes on
    }
    remember({object, record.start + record.duration, ids::StackId::of(record)});
}

void IdleSyncs::add(const trace::Copy& record, std::uint32_t thread) {
    if (!is_done_on_return(record))
        work(record, thread);
}

void IdleSyncs::add(const trace::Event& record, std::uint32_t thread) {
    if (record.action != trace::EventAction::create && record.action != trace::EventAction::destroy)
        work(record, thread);
}

void IdleSyncs::add(const trace::Stream& record, std::uint32_t thread) {
    if (record.action != trace::StreamAction::create && record.action != trace::StreamAction::destroy)
        work(record, thread);
    contexts_.add(record, thread);
}

void IdleSyncs::add(const trace::Ipc& record, std::uint32_t thread) {
    work(record, thread);
    undecided_ |= record.action == trace::IpcAction::open_event;
}

} // namespace umadvisor::rules
