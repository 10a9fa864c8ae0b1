#include "analyzer/advice/order_check.hpp"

#include "analyzer/advice/lost_order.hpp"
#include "analyzer/facts/calls.hpp"
#include "analyzer/reader/error.hpp"
#include "analyzer/reader/event_stream.hpp"

#include <algorithm>
#include <array>
#include <functional>
#include <set>
#include <span>
#include <string_view>
#include <utility>

namespace umadvisor::advice {
namespace {

using rules::OrderUse;
using timeline::Change;
using What = OrderChange::What;

/// How many edits one pass follows, and how many are followed at all: those of the findings that save most.
constexpr std::size_t most_at_once = 32, most_followed = 2 * most_at_once;

struct Edited {
    rules::Finding* finding = nullptr;
    OrderEdit edit;
};

std::optional<OrderChange> order_change(const rules::Finding& finding, const Change& change) {
    switch (change.what) {
    case Change::What::gone: // what the host needs instead is a call that does the work without a wait
        return OrderChange{change.added_each_ns > 0 ? What::replaced : What::gone};
    case Change::What::asynchronous:
        return OrderChange{What::asynchronous, change.data_needed};
    case Change::What::own_stream:
        return OrderChange{What::own_stream};
    case Change::What::shorter:
        break;
    }
    if (finding.rule->order == OrderUse::kept_memory)
        return OrderChange{What::kept};
    if (finding.rule->order == OrderUse::asynchronous) // from page-locked memory
        return OrderChange{What::asynchronous};
    return std::nullopt;
}

/// Empty: the edit changes no order.
OrderEdit order_edit(const rules::Finding& finding, const rules::LineOf& line_of) {
    OrderEdit edit;
    // A synchronisation that has something to wait for at times stays where it has.
    const bool stays = finding.rule->keeps_needed_calls && finding.code_edits.empty();
    if (stays || finding.rule->order == OrderUse::none)
        return edit;
    // With two sets of buffers the waits of other lines stay, though they have nothing to wait for any more.
    const bool one_line = finding.rule->moves_own_line_only;
    for (const Change& change : finding.edit.changes)
        if (!one_line || line_of(change.site.stack) == finding.stack)
            if (const auto done = order_change(finding, change))
                edit.try_emplace(change.site, *done);
    return edit;
}

/// False: the trace can no longer be read.
bool follow(const rules::Profile& profile, LostOrder& order) try {
    reader::TraceFile file(profile.trace().file.source().opened());
    facts::Calls calls(profile.trace(), profile.rates());
    reader::EventStream events(file, profile.trace().choice());
    while (const reader::ThreadCursor* const cursor = events.next()) {
        const std::optional<facts::Call> call = calls.next(*cursor);
        order.add(*cursor, call ? &*call : nullptr);
    }
    order.finish();
    return true;
} catch (const reader::Error&) {
    return false;
}

/// What keeps the order, in the remedy's words.
void name_order(const rules::Profile& profile, const rules::LineOf& line_of, rules::Finding& finding) {
    const bool runtime = profile.uses_runtime(), python = profile.dictionary().is_python(finding.stack);
    bool host = false, device = false;
    for (const rules::OrderLoss& pair : finding.lost_order) {
        (pair.by_host ? host : device) = true;
        rules::add_order_place(finding,
                               pair.by_host ? "the host must wait for this work" : "this work must come first",
                               line_of(pair.first));
        if (!pair.by_host)
            rules::add_order_place(finding, "this work must come later", line_of(pair.second));
    }
    finding.code_edits.clear(); // alone they would take the order away
    if (host)
        finding.order_advice +=
            fmt::format("; before the host reads or changes memory that these calls use, add a wait: {}",
                        python    ? "for the stream, or for an event on it"
                        : runtime ? "cudaStreamSynchronize(stream), or cudaEventSynchronize(event)"
                                  : "cuStreamSynchronize, or cuEventSynchronize");
    if (device)
        finding.order_advice +=
            fmt::format("; these calls also order streams: instead, call {} after the work that must come "
                        "first, and {} before the work that must come later",
                        python    ? "the event's record method"
                        : runtime ? "cudaEventRecord(event, stream)"
                                  : "cuEventRecord",
                        python    ? "the other stream's wait_event"
                        : runtime ? "cudaStreamWaitEvent(other, event)"
                                  : "cuStreamWaitEvent");
    finding.advice += finding.order_advice;
}

std::vector<rules::OrderLoss> losses_of(const LostPairs& pairs) {
    std::vector<rules::OrderLoss> lost;
    for (const auto& [pair, times] : pairs)
        lost.push_back(
            {pair.first.stack, pair.by_host() ? ids::StackId() : pair.second.stack, times, pair.by_host()});
    return lost;
}

/// False: the finding must not be shown.
bool settle(const rules::Profile& profile, const rules::LineOf& line_of, rules::Finding& finding,
            const LostOrder& order, std::size_t index) {
    finding.lost_order = losses_of(order.pairs(index));
    finding.order = order.unknown()              ? rules::Order::unknown
                    : finding.lost_order.empty() ? rules::Order::kept
                                                 : rules::Order::named;
    if (finding.order != rules::Order::named)
        return true;
    const bool device = !std::ranges::all_of(finding.lost_order, &rules::OrderLoss::by_host);
    if (device && finding.rule->order == OrderUse::wait)
        return false;
    name_order(profile, line_of, finding);
    return true;
}

void leave_unchecked(rules::Finding& finding) {
    finding.order = rules::Order::unknown;
    finding.code_edits.clear();
    finding.confidence = rules::Confidence::low;
    finding.details.push_back(
        "not checked whether the edit removes an order that other work needs: the check covers the " +
        std::to_string(most_followed) + " findings that save most, and needs a trace that can be read again");
}

/// Those that save most come first.
std::vector<Edited> edits_of(const rules::LineOf& line_of,
                             std::span<std::vector<rules::Finding>* const> lists) {
    std::vector<Edited> edits;
    for (std::vector<rules::Finding>* const list : lists)
        for (rules::Finding& finding : *list)
            if (OrderEdit edit = order_edit(finding, line_of); !edit.empty())
                edits.push_back({&finding, std::move(edit)});
    std::ranges::stable_sort(edits, std::ranges::greater{},
                             [](const Edited& each) { return each.finding->saving_ns; });
    return edits;
}

} // namespace

std::vector<rules::Finding> keep_order(const rules::Profile& profile, const rules::LineOf& line_of,
                                       std::vector<rules::Finding>& all,
                                       std::vector<rules::Finding>& unpriced) {
    const std::array lists{&all, &unpriced};
    std::vector<Edited> edits = edits_of(line_of, lists);
    const std::span dearest = std::span(edits).first(std::min(edits.size(), most_followed));
    std::set<const rules::Finding*> stopped;
    std::size_t checked = 0;
    while (checked < dearest.size()) {
        const std::span group = dearest.subspan(checked, std::min(most_at_once, dearest.size() - checked));
        std::vector<OrderEdit> followed;
        for (Edited& each : group)
            followed.push_back(std::move(each.edit));
        LostOrder order(profile.dictionary(), std::move(followed));
        if (!follow(profile, order))
            break;
        for (std::size_t i = 0; i < group.size(); ++i)
            if (!settle(profile, line_of, *group[i].finding, order, i))
                stopped.insert(group[i].finding);
        checked += group.size();
    }
    for (const Edited& each : std::span(edits).subspan(checked))
        leave_unchecked(*each.finding);
    std::vector<rules::Finding> removed;
    for (std::vector<rules::Finding>* const list : lists) {
        std::vector<rules::Finding> shown;
        for (rules::Finding& finding : *list)
            (stopped.contains(&finding) ? removed : shown).push_back(std::move(finding));
        *list = std::move(shown);
    }
    return removed;
}

} // namespace umadvisor::advice
