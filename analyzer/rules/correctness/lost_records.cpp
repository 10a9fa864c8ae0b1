#include "analyzer/rules/correctness/lost_records.hpp"

#include <algorithm>
#include <variant>

namespace umadvisor::rules {
namespace {

constexpr std::size_t most_events = 4096, most_lost = 16;

bool is_of_event(const trace::Sync& record) {
    return record.kind == trace::SyncKind::event || record.kind == trace::SyncKind::event_query;
}

} // namespace

void LostRecords::record(std::uint64_t event, const facts::Call& call, const facts::StreamOrder& order) {
    if (recorded_.size() == most_events && !recorded_.contains(event))
        recorded_.clear();
    Recorded& known = recorded_[event];
    if (known.awaited)
        known.lost.clear();
    else if (!order.is_awaited(known.work) && !order.before(known.work, call.stream) &&
             known.lost.size() < most_lost)
        known.lost.push_back({known.work, known.site, call.site});
    known.work = order.last(call.stream);
    known.site = call.site;
    known.awaited = false;
}

void LostRecords::join(const Recorded& recorded, const facts::StreamPlace& stream,
                       const facts::StreamOrder& order) {
    if (stream.number >= missed_.size())
        missed_.resize(std::size_t{stream.number} + 1);
    std::vector<Lost>& missed = missed_[stream.number];
    std::erase_if(missed, [&](const Lost& lost) { return order.before(lost.work, stream); });
    for (const Lost& lost : recorded.lost)
        if (missed.size() < most_lost && !order.before(lost.work, stream))
            missed.push_back(lost);
}

void LostRecords::add(const WorkCall& made, const facts::StreamOrder& order) {
    const auto& event = made.cursor.event();
    if (const auto* const record = std::get_if<trace::Event>(&event)) {
        if (made.call.queues == facts::Queues::record)
            this->record(record->event, made.call, order);
        else if (record->action == trace::EventAction::destroy)
            recorded_.erase(record->event); // its handle may be that of another event soon
    } else if (const auto* const stream = std::get_if<trace::Stream>(&event)) {
        if (stream->action == trace::StreamAction::destroy)
            missed_.clear(); // so may its number
        Recorded* const known =
            made.call.queues == facts::Queues::join ? recorded_.find(stream->event) : nullptr;
        if (known == nullptr)
            return;
        known->awaited = true;
        join(*known, made.call.stream, order);
    } else if (const auto* const sync = std::get_if<trace::Sync>(&event)) {
        if (Recorded* const known = is_of_event(*sync) ? recorded_.find(sync->object) : nullptr)
            known->awaited = true;
    }
}

const LostRecords::Lost* LostRecords::find(const facts::StreamOrder::Moment& work,
                                           const facts::StreamPlace& stream) const {
    if (stream.number >= missed_.size())
        return nullptr;
    const auto found = std::ranges::find_if(missed_[stream.number], [&](const Lost& lost) {
        return lost.work.stream == work.stream && lost.work.number >= work.number;
    });
    return found == missed_[stream.number].end() ? nullptr : &*found;
}

} // namespace umadvisor::rules
