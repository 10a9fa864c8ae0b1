#include "analyzer/rules/sync/needless_waits.hpp"
#include "analyzer/facts/waiting.hpp"

#include "analyzer/facts/at_once.hpp"
#include "analyzer/facts/direction.hpp"
#include "analyzer/reader/saturated.hpp"
#include "analyzer/tables/copies.hpp"

#include <utility>

namespace umadvisor::rules {
namespace {

using trace::Memory;

} // namespace

NeedlessWaits::NeedlessWaits(double ns_per_tick)
    : at_once_ticks_(reader::saturated(facts::at_once_ns / ns_per_tick)) {}

void NeedlessWaits::add(const trace::Alloc& record) {
    if (record.status != 0)
        return;
    if (record.memory == Memory::managed) {
        always_visible_ |= record.symbol != 0; // a variable, which kernels reach without a parameter
        managed_.insert(record.allocation);
    } else if (facts::is_page_locked(record.memory)) {
        readable_.insert(record.allocation);
        ++generation_;
    } else if (record.memory != Memory::device) {
        always_visible_ = true;
    }
}

void NeedlessWaits::add(const trace::Free& record) {
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

void NeedlessWaits::see(std::uint64_t stream) {
    one_stream_ = (one_stream_ && stream == stream_) || seen_ == waited_;
    stream_ = stream;
    queued_ = true;
    ++seen_;
}

void NeedlessWaits::unknown(std::uint64_t start, std::uint32_t thread) {
    next(start, thread);
    see(0);
    one_stream_ = false;
}

void NeedlessWaits::add(const trace::Copy& record, std::uint32_t thread) {
    next(record.start, thread, record.asynchronous == 0);
    if (record.status != 0 || record.captured != 0 || record.asynchronous == 0)
        return;
    queued_ = true;
    const bool device_alone =
        record.source_memory == Memory::device && record.destination_memory == Memory::device;
    const bool staged = record.source_memory == Memory::pageable && record.destination_memory == Memory::device;
    if (!device_alone && !staged)
        see(record.stream);
}

void NeedlessWaits::add(const trace::Set& record, std::uint32_t thread) {
    next(record.start, thread);
    queued_ = true;
    if (record.status == 0 && record.captured == 0 && record.asynchronous != 0 &&
        record.memory != Memory::device)
        see(record.stream);
}

bool NeedlessWaits::is_visible(const reader::Shape* shape) {
    if (shape == nullptr || !shape->scanned || shape->untold != 0 || !managed_.empty() || always_visible_)
        return true;
    Recent& recent = recent_[shape->number % recent_.size()];
    if (recent.shape != shape || recent.generation != generation_) {
        recent = {shape, generation_, false};
        for (const std::uint64_t allocation : shape->touched)
            recent.visible |= readable_.contains(allocation);
    }
    return recent.visible;
}

void NeedlessWaits::launch(const trace::Launch& record, const reader::Shape* shape, std::uint32_t thread) {
    next(record.start, thread);
    queued_ = true;
    if (record.status == 0 && (shape == nullptr || !shape->captured) && is_visible(shape))
        see(shape == nullptr ? 0 : shape->stream);
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
    NeedlessTotals& totals = sites_[{record.stack, record.entry}];
    ++totals.count;
    totals.event = record.kind == trace::SyncKind::event;
    const std::uint64_t seen = seen_;
    if (std::exchange(queued_, false) && seen == waited_ && !always_visible_)
        pending_[thread] = {&totals, record.duration, record.start + record.duration};
    if (record.kind == trace::SyncKind::context ||
        (record.kind == trace::SyncKind::stream && one_stream_ && record.object == stream_))
        waited_ = seen;
    else if (const auto found = recorded_.find(record.object); record.kind == trace::SyncKind::event &&
                                                               one_stream_ && found != recorded_.end() &&
                                                               found->second == seen)
        waited_ = seen;
}

} // namespace umadvisor::rules
