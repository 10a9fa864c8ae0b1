#include "analyzer/reports/action_lines.hpp"

#include "analyzer/findings/words.hpp"
#include "analyzer/reader/saturated.hpp"

#include <algorithm>
#include <map>

namespace umadvisor::reports {
namespace {

using model::ActionKind;
using Why = verdicts::WastedPrefetch::Why;

/// What moving bytes took and would have taken without us, in bytes per second.
struct RatePair {
    double ours, otherwise;
};

std::optional<RatePair> rates_of(ActionKind kind, const machine::Rates& rates) {
    if (kind == ActionKind::to_device)
        return RatePair{rates.prefetch_to_device, rates.fault_to_device};
    if (kind == ActionKind::to_host)
        return RatePair{rates.prefetch_to_host, rates.fault_to_host};
    return std::nullopt;
}

double time_of(std::uint64_t bytes, double rate) {
    return static_cast<double>(bytes) / rate * 1e9;
}

WastedBytes wasted_at(const Report& report, const model::ActionSite& site) {
    const auto bytes = [&](Why why) -> std::uint64_t {
        const auto& all = report.profile.managed().wasted_by_umadvisor();
        const auto found = all.find({why, site.stack});
        return found == all.end() ? 0 : found->second;
    };
    switch (site.kind) {
    case ActionKind::to_device:
        // A launch always follows: one that does not name the memory may reach it through pointers in other.
        return {bytes(Why::there), 0};
    case ActionKind::place:
        return {0, bytes(Why::unused_on_device)};
    case ActionKind::to_host: // told by how long it stayed, and simcuda's clock stands still for the host
        return {0, report.trace.file.header().clock == trace::ClockKind::simulated
                       ? 0
                       : bytes(Why::unused_on_host)};
    default:
        return {};
    }
}

std::string basis_of(ActionKind kind, const machine::Rates& rates) {
    const auto against = [&rates](double ours, const char* what, double otherwise, const char* others) {
        return findings::rate_text(ours) + " by " + what + " against " + findings::rate_text(otherwise) +
               " by " + others + ", measured on " + rates.whose() + ", less the time of the calls";
    };
    const auto against_driver = [&rates](double rate) {
        return "the time of the calls, but for that of work before them in their stream, against " +
               findings::rate_text(rate) + " by the driver's own pageable copies, measured on " + rates.whose();
    };
    switch (kind) {
    case ActionKind::to_device:
        return against(rates.prefetch_to_device, "prefetch", rates.fault_to_device, "faults");
    case ActionKind::to_host:
        return against(rates.prefetch_to_host, "prefetch", rates.fault_to_host, "faults");
    case ActionKind::stage_to_device:
        return against_driver(rates.pageable_to_device);
    case ActionKind::stage_to_host:
        return against_driver(rates.device_to_pageable);
    case ActionKind::room:
        return "the time of the calls; the driver would have had to make the same room";
    case ActionKind::place:
        return "the time of the calls; memory of the device would have needed none";
    case ActionKind::rewrite:
        return "gains room, not time";
    case ActionKind::relief:
        return "gain not estimated: nobody saw what would have moved without it (umadvisor ab times both)";
    case ActionKind::other:
        break;
    }
    return "gain not estimated";
}

void add(model::ActionTotals& to, const model::ActionTotals& more) {
    to.count += more.count;
    to.failed += more.failed;
    reader::add_saturated(to.bytes, more.bytes);
    reader::add_saturated(to.ticks, more.ticks);
    reader::add_saturated(to.waited_ticks, more.waited_ticks);
}

} // namespace

std::uint64_t WastedBytes::sum() const {
    return reader::saturated_sum(there, unused);
}

std::optional<double> action_gain_ns(ActionKind kind, const model::ActionTotals& totals, double call_ns,
                                     const WastedBytes& wasted, const machine::Rates& rates) {
    if (const auto pair = rates_of(kind, rates)) {
        const std::uint64_t useful = totals.bytes - std::min(totals.bytes, wasted.sum());
        return time_of(useful, pair->otherwise) - time_of(useful, pair->ours) -
               time_of(wasted.unused, pair->ours) - call_ns;
    }
    switch (kind) {
    case ActionKind::stage_to_device:
        return time_of(totals.bytes, rates.pageable_to_device) - call_ns;
    case ActionKind::stage_to_host:
        return time_of(totals.bytes, rates.device_to_pageable) - call_ns;
    case ActionKind::room:
    case ActionKind::place:
        return -call_ns;
    default:
        return std::nullopt;
    }
}

std::vector<ActionLine> action_lines(const Report& report) {
    const machine::Rates& rates = report.profile.rates();
    std::map<ActionKind, ActionLine> lines;
    for (const auto& [site, totals] : report.profile.actions().sites()) {
        ActionPlace place{site.stack, totals, wasted_at(report, site), std::nullopt};
        const std::uint64_t call_ns = report.profile.nanoseconds(totals.ticks - totals.waited_ticks);
        place.gain_ns = action_gain_ns(site.kind, totals, static_cast<double>(call_ns), place.wasted, rates);
        ActionLine& line = lines[site.kind];
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
        line.basis = basis_of(kind, rates);
        std::ranges::stable_sort(line.places, [](const ActionPlace& a, const ActionPlace& b) {
            return a.gain_ns.value_or(0) > b.gain_ns.value_or(0);
        });
        result.push_back(std::move(line));
    }
    return result;
}

std::string_view action_title(ActionKind kind) {
    constexpr std::string_view titles[] = {"prefetched to the device before launches",
                                           "prefetched to the host after waits",
                                           "prefetched to the host to make room on the device",
                                           "allocations answered with managed memory",
                                           "advice and prefetches that keep those on the device",
                                           "copies staged to the device",
                                           "copies staged to the host",
                                           "advice that ends turns at memory, given or taken back",
                                           "other actions"};
    static_assert(std::size(titles) == static_cast<std::size_t>(ActionKind::other) + 1);
    return titles[static_cast<std::size_t>(kind)];
}

bool is_action_notice(const trace::Notice& notice) {
    return std::string_view(notice.text).starts_with("--act");
}

bool has_actions(const Report& report) {
    return !report.profile.actions().sites().empty() ||
           std::ranges::any_of(report.trace.dictionary.notices, is_action_notice);
}

} // namespace umadvisor::reports
