#include "analyzer/reports/json/managed_json.hpp"

#include "analyzer/reader/shown_name.hpp"
#include "analyzer/reports/managed_lines.hpp"
#include "analyzer/reports/place_json.hpp"
#include "analyzer/reports/verdict_lines.hpp"
#include "analyzer/rules/unified/managed.hpp"
#include "analyzer/symbols/demangle.hpp"

#include <cmath>

namespace umadvisor::reports {
namespace {

using ManagedJson = nlohmann::ordered_json;
using managed::sum_of;
using Kind = trace::ManagedEventKind;

/// What is not zero, by name.
template <std::size_t N>
ManagedJson by_name(const std::array<std::uint64_t, N>& counts, std::string_view (*name)(std::size_t)) {
    ManagedJson object = ManagedJson::object();
    for (std::size_t i = 0; i < N; ++i)
        if (counts[i] != 0)
            object[std::string(name(i))] = counts[i];
    return object;
}

ManagedJson parameters_json(const trace::ManagedSource& source) {
    if (source.parameters_known == 0)
        return nullptr;
    return {{"prefetch", source.prefetch},
            {"prefetch_threshold", source.prefetch_threshold},
            {"thrashing", source.thrashing},
            {"thrashing_threshold", source.thrashing_threshold},
            {"thrashing_pin_threshold", source.thrashing_pin_threshold},
            {"thrashing_lapse_us", source.thrashing_lapse},
            {"thrashing_nap_us", source.thrashing_nap},
            {"thrashing_epoch_us", source.thrashing_epoch},
            {"thrashing_pin_us", source.thrashing_pin}};
}

/// Null: it is not known.
ManagedJson count_json(const std::optional<std::uint64_t>& count) {
    return count ? ManagedJson(*count) : ManagedJson();
}

/// As recorded. Null: such events were never reported.
ManagedJson recorded_json(const managed::ManagedTotals& totals, Kind kind, std::uint64_t count) {
    return totals.counts(kind, count) ? ManagedJson(count) : ManagedJson();
}

ManagedJson totals_json(const managed::ManagedTotals& totals) {
    const managed::ManagedTally& recorded = totals.recorded();
    const managed::MovedBytes moved = totals.moved();
    return {{"exact", totals.exact() != nullptr && totals.uncounted().empty()},
            {"bytes_to_device", moved.to_device},
            {"bytes_to_host", moved.to_host},
            {"host_faults", count_json(totals.host_faults())},
            {"device_faults", count_json(totals.device_faults())},
            {"told",
             {{"events", recorded.events},
              {"bytes_to_device", sum_of(recorded.to_device)},
              {"bytes_to_host", sum_of(recorded.to_host)},
              {"bytes_between_devices", recorded.between_devices},
              {"host_faults", recorded_json(totals, Kind::host_fault, sum_of(recorded.host_faults))},
              {"device_faults", recorded_json(totals, Kind::device_fault, sum_of(recorded.device_faults))}}}};
}

/// Null: no moves were recorded, so the rule could not be applied.
ManagedJson thrashing_pages_json(const managed::ManagedActivity& managed) {
    if (!managed.totals().ever_recorded(Kind::migration))
        return nullptr;
    const managed::ThrashingPages pages = managed.thrashing_pages();
    return {{"told", pages.told}, {"by_rule", pages.found}, {"both", pages.agreed}};
}

ManagedJson kernels_json(advice::Report& report, const std::vector<ManagedKernelLine>& kernels) {
    ManagedJson list = ManagedJson::array();
    for (const ManagedKernelLine& kernel : kernels)
        list.push_back(
            {{"function", symbols::demangle(report.profile.dictionary().function_symbol(kernel.function))},
             {"line", place_json(report, kernel.stack)},
             {"share", kernel.share},
             {"bytes", reader::saturated(kernel.bytes)},
             {"faults", reader::saturated(std::round(kernel.faults))},
             {"candidates", kernel.candidates}});
    return list;
}

ManagedJson blocks_json(const advice::Report& report, const managed::ManagedSiteActivity& activity) {
    const auto ns = [&report](std::uint64_t ticks) { return report.trace.time.at(ticks); };
    ManagedJson list = ManagedJson::array();
    for (const managed::BlockOfAllocation& block : activity.blocks)
        list.push_back({{"allocation", number(block.allocation)},
                        {"offset", block.offset},
                        {"bytes", block.bytes},
                        {"bytes_to_device", block.activity.bytes_to_device},
                        {"bytes_to_host", block.activity.bytes_to_host},
                        {"host_faults", block.activity.host_faults},
                        {"device_faults", block.activity.device_faults},
                        {"round_trips", block.activity.round_trips},
                        {"place", name(block.activity.place)},
                        {"first_ns", ns(block.activity.first_ticks)},
                        {"last_ns", ns(block.activity.last_ticks)}});
    return list;
}

ManagedJson life_json(const advice::Report& report, const managed::AllocationLife& life) {
    if (life.stays.empty())
        return nullptr;
    const auto ns = [&report](std::uint64_t ticks) {
        return ticks == 0 ? ManagedJson() : ManagedJson(report.trace.time.at(ticks));
    };
    ManagedJson stays = ManagedJson::array();
    for (const managed::Stay& stay : life.stays)
        stays.push_back({{"on", stay.on_device ? "device" : "host"},
                         {"begin_ns", ns(stay.begin)},
                         {"end_ns", ns(stay.end)},
                         {"by_fault", stay.by_fault},
                         {"by_prefetch", stay.by_prefetch},
                         {"launches", stay.on_device ? stay.launches : stay.remote_launches}});
    return {{"allocation", number(life.allocation)},
            {"bytes", life.bytes},
            {"from_ns", ns(life.from)},
            {"until_ns", ns(life.until)},
            {"stays", std::move(stays)},
            {"stays_left_out", life.left_out}};
}

ManagedJson line_json(advice::Report& report, const ManagedLine& line) {
    const managed::ManagedTally& recorded = line.activity.recorded;
    ManagedJson host = ManagedJson::array(), prefetches = ManagedJson::array();
    for (const ManagedHostLine& each : line.host_lines)
        host.push_back({{"line", place_json(report, each.code)},
                        {"faults", each.faults},
                        {"bytes", reader::saturated(each.bytes)}});
    for (const ManagedPrefetchLine& each : line.prefetches)
        prefetches.push_back(
            {{"line", place_json(report, each.stack)},
             {"call", each.entry == 0 ? ManagedJson() : ManagedJson(report.profile.call_name(each.entry))},
             {"by_umadvisor", each.by_umadvisor},
             {"bytes_to_device", reader::saturated(each.bytes_to_device)},
             {"bytes_to_host", reader::saturated(each.bytes_to_host)}});
    return {
        {"memory", name(line.site.memory)},
        {"call", report.profile.call_name(line.site.entry)},
        {"variable", reader::shown_name(report.trace.dictionary.string(line.site.symbol))},
        {"rewritten", line.site.origin == trace::Origin::umadvisor},
        {"line", place_json(report, line.site.stack)},
        {"count", line.allocations},
        {"bytes", line.allocated_bytes},
        {"bytes_to_device", line.moved.to_device},
        {"bytes_to_host", line.moved.to_host},
        {"basis", name(line.basis)},
        {"bytes_between_devices", recorded.between_devices},
        {"by_cause",
         {{"to_device", by_name(recorded.to_device, &managed::migration_cause_name)},
          {"to_host", by_name(recorded.to_host, &managed::migration_cause_name)}}},
        {"host_faults", count_json(line.host_faults)},
        {"host_faults_by_access", by_name(recorded.host_faults, &managed::fault_access_name)},
        {"device_faults", count_json(line.device_faults)},
        {"device_faults_by_access", by_name(recorded.device_faults, &managed::fault_access_name)},
        {"thrashings", recorded.thrashings},
        {"thrashing_bytes", recorded.thrashing_bytes},
        {"throttlings", recorded.throttlings},
        {"throttled_ns", report.profile.nanoseconds(recorded.throttled_ticks)},
        {"remote_mapped_bytes", by_name(recorded.remote_bytes, &managed::remote_map_cause_name)},
        {"read_duplicated_bytes", recorded.read_duplicated_bytes},
        {"kernels", kernels_json(report, line.kernels)},
        {"evictors", kernels_json(report, line.evictors)},
        {"host_lines", std::move(host)},
        {"prefetches", std::move(prefetches)},
        {"life", life_json(report, line.activity.life)},
        {"round_trips", line.activity.round_trips},
        {"blocks_seen", line.activity.blocks_seen},
        {"blocks", blocks_json(report, line.activity)},
    };
}

ManagedJson verdicts_json(advice::Report& report, const ManagedLine& line) {
    ManagedJson list = ManagedJson::array();
    for (const VerdictLine& each : verdict_lines(report, line)) {
        ManagedJson kernels = ManagedJson::array(), host = ManagedJson::array(),
                    prefetches = ManagedJson::array();
        for (const facts::KernelSite& kernel : each.totals.kernels)
            kernels.push_back(
                {{"function", symbols::demangle(report.profile.dictionary().function_symbol(kernel.function))},
                 {"line", place_json(report, kernel.stack)}});
        for (const std::uint64_t code : each.totals.host_codes)
            host.push_back(place_json(report, ids::StackId(code)));
        for (const ids::StackId stack : each.totals.prefetches)
            prefetches.push_back(place_json(report, stack));
        list.push_back({{"verdict", managed::name(each.kind)},
                        {"rule", rules::rule_of(each.kind).id},
                        {"text", each.text},
                        {"call", report.profile.call_name(line.site.entry)},
                        {"variable", reader::shown_name(report.trace.dictionary.string(line.site.symbol))},
                        {"line", place_json(report, line.site.stack)},
                        {"allocations", each.totals.allocations},
                        {"times", each.totals.times},
                        {"bytes", each.totals.bytes},
                        {"kernels", std::move(kernels)},
                        {"host_lines", std::move(host)},
                        {"prefetches", std::move(prefetches)}});
    }
    return list;
}

} // namespace

nlohmann::ordered_json managed_json(advice::Report& report) {
    const managed::ManagedActivity& managed = report.profile.managed();
    if (!managed.any() && report.trace.dictionary.managed_sources.empty())
        return nullptr;
    const trace::ManagedSource source = managed_source(report);
    ManagedJson object{{"source", managed_source_name(source.source)},
                       {"trouble", source.trouble},
                       {"sees", managed_source_text(report)},
                       {"driver_release", source.driver_release},
                       {"parameters", parameters_json(source)},
                       {"totals", totals_json(managed.totals())},
                       {"told_share", managed.totals().recorded_share()},
                       {"lost_events", managed.totals().lost()},
                       {"thrashing_pages", thrashing_pages_json(managed)},
                       {"coarser_allocations", managed.block_budget().coarser}};
    ManagedJson allocations = ManagedJson::array(), verdicts = ManagedJson::array();
    for (const ManagedLine& line : managed_lines(report)) {
        allocations.push_back(line_json(report, line));
        for (ManagedJson& verdict : verdicts_json(report, line))
            verdicts.push_back(std::move(verdict));
    }
    object["verdicts"] = std::move(verdicts);
    object["allocations"] = std::move(allocations);
    const managed::ManagedTally& unattributed = managed.unattributed();
    const managed::MovedBytes rest = managed.account().unassigned();
    object["unattributed"] = {{"events", unattributed.events},
                              {"bytes_to_device", sum_of(unattributed.to_device)},
                              {"bytes_to_host", sum_of(unattributed.to_host)},
                              {"host_faults", sum_of(unattributed.host_faults)},
                              {"device_faults", managed.totals().device_faults(unattributed).value_or(0)},
                              {"untold_bytes_to_device", rest.to_device},
                              {"untold_bytes_to_host", rest.to_host}};
    return object;
}

} // namespace umadvisor::reports
