#include "analyzer/findings/order_check.hpp"

#include "analyzer/facts/calls.hpp"
#include "analyzer/model/lost_order.hpp"
#include "analyzer/reader/error.hpp"
#include "analyzer/reader/event_stream.hpp"

#include <algorithm>
#include <array>
#include <span>
#include <string_view>
#include <utility>

namespace umadvisor::findings {
namespace {

using timeline::Change;
using What = model::OrderChange::What;

/// So many edits are followed in one pass.
constexpr std::size_t most_at_once = 32;

bool is_one_of(const Finding& finding, std::span<const std::string_view> ids) {
    return std::ranges::find(ids, finding.rule->id) != ids.end();
}

/// One call of each group of neighbours stays, and waits as they did. Queries that found nothing done order
/// nothing.
constexpr std::array<std::string_view, 4> harmless{"UMA-103", "UMA-104", "UMA-119", "UMA-504"};
/// The price of these findings is the wait: it is lost where something else has to wait instead.
constexpr std::array<std::string_view, 8> of_waits{"UMA-110", "UMA-112", "UMA-116", "UMA-501",
                                                   "UMA-502", "UMA-503", "UMA-505", "UMA-506"};
/// They keep memory from one round to the next: a free, which waits for the device, goes with each round.
constexpr std::array<std::string_view, 4> of_kept_memory{"UMA-401", "UMA-407", "UMA-410", "UMA-412"};

std::optional<model::OrderChange> order_change(const Finding& finding, const Change& change) {
    switch (change.what) {
    case Change::What::gone: // what the host needs instead is a call that does the work without a wait
        return model::OrderChange{change.added_each_ns > 0 ? What::replaced : What::gone};
    case Change::What::asynchronous:
        return model::OrderChange{What::asynchronous, change.data_needed};
    case Change::What::own_stream:
        return model::OrderChange{What::own_stream};
    case Change::What::shorter:
        break;
    }
    if (is_one_of(finding, of_kept_memory))
        return model::OrderChange{What::kept};
    if (finding.rule == &rule("UMA-102")) // from page-locked memory an asynchronous copy is what its name says
        return model::OrderChange{What::asynchronous};
    return std::nullopt;
}

/// Empty: the edit changes no order.
model::OrderEdit order_edit(const Finding& finding, const LineOf& line_of) {
    model::OrderEdit edit;
    // A synchronisation that has something to wait for at times stays where it has.
    const bool stays = finding.rule == &rule("UMA-501") && finding.code_edits.empty();
    if (stays || is_one_of(finding, harmless))
        return edit;
    // With two sets of buffers the waits of other lines stay, though they have nothing to wait for any more.
    const bool one_line = finding.rule == &rule("UMA-505");
    for (const Change& change : finding.edit.changes)
        if (!one_line || line_of(change.site.stack) == finding.stack)
            if (const auto done = order_change(finding, change))
                edit.try_emplace(change.site, *done);
    return edit;
}

/// False: the trace can no longer be read.
bool follow(const model::Profile& profile, model::LostOrder& order) try {
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
void name_order(const model::Profile& profile, Finding& finding) {
    const bool runtime = profile.uses_runtime();
    bool host = false, device = false;
    for (const OrderLoss& pair : finding.lost_order) {
        (pair.by_host ? host : device) = true;
        finding.places.emplace_back(pair.by_host ? "the host needs this to be done" : "done first", pair.first);
        if (!pair.by_host)
            finding.places.emplace_back("comes behind that", pair.second);
    }
    finding.code_edits.clear(); // alone they would take the order away
    if (host)
        finding.order_advice +=
            std::string("; what the host reads or changes behind these calls needs a wait of "
                        "its own before that: ") +
            (runtime ? "cudaStreamSynchronize(stream), or cudaEventSynchronize(event)"
                     : "cuStreamSynchronize, or cuEventSynchronize") +
            " behind the work on it";
    if (device)
        finding.order_advice +=
            std::string("; they also keep streams in order: in their place ") +
            (runtime ? "cudaEventRecord(event, stream) and cudaStreamWaitEvent(other, event)"
                     : "cuEventRecord and cuStreamWaitEvent") +
            " between the lines listed";
    finding.advice += finding.order_advice;
}

std::vector<OrderLoss> losses_of(const model::LostPairs& pairs) {
    std::vector<OrderLoss> lost;
    for (const auto& [pair, totals] : pairs)
        lost.push_back(
            {pair.first.stack, pair.by_host() ? 0 : pair.second.stack, totals.times, pair.by_host()});
    return lost;
}

/// False: the finding must not be shown.
bool settle(const model::Profile& profile, Finding& finding, const model::LostOrder& order, std::size_t index) {
    finding.lost_order = losses_of(order.pairs(index));
    finding.order = order.unknown() ? Order::unknown : finding.lost_order.empty() ? Order::kept : Order::named;
    if (finding.order != Order::named)
        return true;
    const bool device = !std::ranges::all_of(finding.lost_order, &OrderLoss::by_host);
    if (device && is_one_of(finding, of_waits))
        return false;
    name_order(profile, finding);
    return true;
}

} // namespace

std::vector<Finding> keep_order(const model::Profile& profile, const LineOf& line_of,
                                std::vector<Finding>& all) {
    std::vector<std::pair<std::size_t, model::OrderEdit>> edits;
    for (std::size_t i = 0; i < all.size(); ++i)
        if (model::OrderEdit edit = order_edit(all[i], line_of); !edit.empty())
            edits.emplace_back(i, std::move(edit));
    std::vector<bool> stopped(all.size());
    for (std::size_t first = 0; first < edits.size(); first += most_at_once) {
        const std::span group = std::span(edits).subspan(first, std::min(most_at_once, edits.size() - first));
        std::vector<model::OrderEdit> followed;
        for (auto& [index, edit] : group)
            followed.push_back(std::move(edit));
        model::LostOrder order(profile.dictionary(), std::move(followed));
        if (!follow(profile, order))
            return {};
        for (std::size_t i = 0; i < group.size(); ++i)
            stopped[group[i].first] = !settle(profile, all[group[i].first], order, i);
    }
    std::vector<Finding> shown, removed;
    for (std::size_t i = 0; i < all.size(); ++i)
        (stopped[i] ? removed : shown).push_back(std::move(all[i]));
    all = std::move(shown);
    return removed;
}

} // namespace umadvisor::findings
