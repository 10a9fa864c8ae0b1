#include "analyzer/tables/actions.hpp"

#include "analyzer/reader/saturated.hpp"

namespace umadvisor::tables {
namespace {

ActionKind kind_of_advice(trace::Reason reason) {
    switch (reason) {
    case trace::Reason::place_rewritten:
        return ActionKind::place;
    case trace::Reason::read_by_both:
    case trace::Reason::small_and_shared:
    case trace::Reason::no_relief:
        return ActionKind::relief;
    default:
        return ActionKind::other;
    }
}

} // namespace

ActionKind kind_of(const trace::Prefetch& record) {
    switch (record.reason) {
    case trace::Reason::not_resident:
    case trace::Reason::next_launch:
        return ActionKind::to_device;
    case trace::Reason::host_returns:
        return ActionKind::to_host;
    case trace::Reason::makes_room:
        return ActionKind::room;
    case trace::Reason::place_rewritten:
        return ActionKind::place;
    default:
        return ActionKind::other;
    }
}

std::string_view name(ActionKind kind) {
    constexpr std::string_view names[] = {
        "prefetch_to_device", "prefetch_to_host", "make_room", "rewrite", "place_rewritten",
        "stage_to_device",    "stage_to_host",    "relieve",   "other"};
    static_assert(std::size(names) == static_cast<std::size_t>(ActionKind::other) + 1);
    return names[static_cast<std::size_t>(kind)];
}

template <class Record>
void Actions::count(ActionKind kind, const Record& record, std::uint64_t bytes) {
    ActionTotals& totals = sites_[{kind, record.stack}];
    ++totals.count;
    reader::add_saturated(totals.ticks, record.duration);
    if (record.status != 0)
        ++totals.failed;
    else
        reader::add_saturated(totals.bytes, bytes);
}

void Actions::add(const trace::Alloc& record) {
    if (record.origin == trace::Origin::umadvisor)
        count(ActionKind::rewrite, record, record.bytes);
}

void Actions::add(const trace::Prefetch& record) {
    if (record.origin == trace::Origin::umadvisor)
        count(kind_of(record), record, record.bytes);
}

void Actions::add(const trace::Advise& record) {
    if (record.origin == trace::Origin::umadvisor) // moves nothing by itself
        count(kind_of_advice(record.reason), record, 0);
}

void Actions::add(const trace::Copy& record) {
    if (record.staged == 0)
        return;
    const bool to_device =
        facts::direction_of(record, dictionary_.symbol(record.entry)) == facts::Direction::HtoD;
    count(to_device ? ActionKind::stage_to_device : ActionKind::stage_to_host, record, record.bytes);
}

} // namespace umadvisor::tables
