#include "analyzer/reports/action_lines.hpp"

#include "analyzer/reader/saturated.hpp"
#include "analyzer/rules/words.hpp"

#include <algorithm>
#include <map>

namespace umadvisor::reports {
namespace {

using tables::ActionKind;
using Why = managed::WastedPrefetch::Why;

WastedBytes wasted_at(const advice::Report& report, const tables::ActionSite& site) {
    const auto bytes = [&](Why why) -> std::uint64_t {
        const auto& all = report.profile.managed().wasted_by_umadvisor();
        const auto found = all.find({why, site.stack});
        return found == all.end() ? 0 : found->second;
    };
    switch (site.kind) {
    case ActionKind::prefetch_to_device:
        // A launch always follows: one that does not name the memory may reach it through a pointer.
        return {bytes(Why::there), 0};
    case ActionKind::place_rewritten:
        return {0, bytes(Why::unused_on_device)};
    case ActionKind::prefetch_to_host:
        // Judged by how long it stayed there; simcuda's clock stands still while the host works.
        return {0, report.trace.file.header().clock == trace::ClockKind::simulated
                       ? 0
                       : bytes(Why::unused_on_host)};
    default:
        return {};
    }
}

std::string basis_of(tables::Measure measure, const tables::ActionGain& compared, bool known) {
    const bool copies = measure == tables::Measure::copies;
    const bool before = measure == tables::Measure::earlier || measure == tables::Measure::pools;
    const bool calls = measure == tables::Measure::calls || measure == tables::Measure::pools;
    const auto count = [&](std::uint64_t number) {
        return text::count_text(number, copies ? "copy" : calls ? "call" : "round");
    };
    if (measure == tables::Measure::room)
        return "gains room, not time";
    if (compared.without == 0)
        return "gain unknown: nothing in this run was left unchanged to compare with (umadvisor ab times both)";
    if (!known && compared.brief)
        return "gain unknown: in rounds of less than 1 ms the driver's thrashing detection decides how long "
               "page faults take in the long run (umadvisor ab times both)";
    const std::string both = fmt::format("{} with it, {} {}", count(compared.with), count(compared.without),
                                         copies   ? "that the driver made"
                                         : before ? "before it"
                                         : calls  ? "that the driver answered"
                                                  : "left without it");
    return known ? "the program's own time: " + both : fmt::format("no difference: {} took equally long", both);
}

void add(tables::ActionTotals& to, const tables::ActionTotals& more) {
    to.count += more.count;
    to.failed += more.failed;
    reader::add_saturated(to.bytes, more.bytes);
    reader::add_saturated(to.ticks, more.ticks);
}

} // namespace

std::uint64_t WastedBytes::sum() const {
    return reader::saturated_sum(there, unused);
}

std::vector<ActionLine> action_lines(const advice::Report& report) {
    const auto& gains = report.profile.action_gains().sites();
    const double ns_per_tick = static_cast<double>(report.profile.nanoseconds(1'000'000)) / 1e6;
    std::map<ActionKind, ActionLine> lines;
    std::map<ActionKind, tables::ActionGain> compared;
    for (const auto& [site, totals] : report.profile.actions().sites()) {
        ActionPlace place{site.stack, totals, wasted_at(report, site), std::nullopt};
        ActionLine& line = lines[site.kind];
        if (const auto found = gains.find(site); found != gains.end()) {
            tables::ActionGain& all = compared[site.kind];
            all.with = std::max(all.with, found->second.with); // those of one loop are the same rounds
            all.without = std::max(all.without, found->second.without);
            all.brief = all.brief || found->second.brief;
            if (!found->second.alike && !found->second.brief)
                place.gain_ns = found->second.ticks * ns_per_tick;
        }
        add(line.totals, totals);
        reader::add_saturated(line.wasted.there, place.wasted.there);
        reader::add_saturated(line.wasted.unused, place.wasted.unused);
        if (place.gain_ns)
            line.gain_ns = line.gain_ns.value_or(0) + *place.gain_ns;
        line.places.push_back(place);
    }
    std::vector<ActionLine> result;
    for (auto& [kind, line] : lines) {
        line.kind = kind;
        line.basis = basis_of(tables::text_of(kind).measure, compared[kind], line.gain_ns.has_value());
        std::ranges::stable_sort(line.places, [](const ActionPlace& a, const ActionPlace& b) {
            return a.gain_ns.value_or(0) > b.gain_ns.value_or(0);
        });
        result.push_back(std::move(line));
    }
    return result;
}

bool is_action_notice(const trace::Notice& notice) {
    return std::string_view(notice.text).starts_with("--act");
}

bool has_actions(const advice::Report& report) {
    return !report.profile.actions().sites().empty() ||
           std::ranges::any_of(report.trace.dictionary.notices, is_action_notice);
}

} // namespace umadvisor::reports
