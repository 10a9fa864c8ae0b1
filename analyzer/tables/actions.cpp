#include "analyzer/tables/actions.hpp"

#include "analyzer/reader/saturated.hpp"

namespace umadvisor::tables {

const ActionText& text_of(ActionKind kind) {
    static constexpr ActionText texts[] = {
#define ACTION(name, mode, compared, noun, title) {trace::ActMode::mode, Measure::compared, #name, noun, title},
#include "trace/act.def"
        {{}, Measure::nothing, "other", "", "other actions"}};
    return texts[static_cast<std::size_t>(kind)];
}

ActionKind kind_of(trace::Reason reason) {
    constexpr ActionKind kinds[] = {
#define REASON(number, name, action) ActionKind::action,
#include "trace/act.def"
    };
    static_assert(
        [] {
            std::size_t next = 0;
            for (const std::size_t number : {
#define REASON(number, name, action) std::size_t{number},
#include "trace/act.def"
                 })
                if (number != next++)
                    return false;
            return true;
        }(),
        "reasons stand in the order of their numbers");
    const auto number = static_cast<std::size_t>(reason);
    return number < std::size(kinds) ? kinds[number] : ActionKind::other;
}

ActionKind kind_of(const trace::Copy& record, const reader::Dictionary& dictionary) {
    if (record.staged == 0)
        return kind_of(record.reason);
    return facts::direction_of(record, dictionary.symbol(record.entry)) == facts::Direction::HtoD
               ? ActionKind::stage_to_device
               : ActionKind::stage_to_host;
}

template <class Record>
void Actions::count(ActionKind kind, const Record& record, std::uint64_t bytes) {
    ActionTotals& totals = sites_[{kind, ids::StackId::of(record)}];
    ++totals.count;
    reader::add_saturated(totals.ticks, record.duration);
    if (record.status != 0)
        ++totals.failed;
    else
        reader::add_saturated(totals.bytes, bytes);
}

/// A call of umadvisor's own, or one of the program's that an action answered. What a call of the program asked
/// for and was made as part of one of umadvisor's own is counted with the former.
template <class Record>
void Actions::answered(const Record& record, std::uint64_t bytes) {
    const ActionKind kind = kind_of(record.reason);
    const bool own = record.origin == trace::Origin::umadvisor;
    if (own ? kind != ActionKind::join_prefetches : kind != ActionKind::other)
        count(kind, record, bytes);
}

void Actions::add(const trace::Alloc& record) {
    answered(record, record.bytes);
}

void Actions::add(const trace::Free& record) {
    if (const ActionKind kind = kind_of(record.reason); kind != ActionKind::other)
        count(kind, record, 0);
}

void Actions::add(const trace::Pool& record) {
    if (record.origin == trace::Origin::umadvisor)
        count(kind_of(record.reason), record, 0);
}

void Actions::add(const trace::Prefetch& record) {
    answered(record, record.bytes);
}

void Actions::add(const trace::Advise& record) {
    answered(record, 0); // moves nothing by itself
}

void Actions::add(const trace::Copy& record) {
    const ActionKind kind = kind_of(record, dictionary_);
    if (record.origin != trace::Origin::umadvisor && kind != ActionKind::other)
        count(kind, record, record.bytes);
}

} // namespace umadvisor::tables
