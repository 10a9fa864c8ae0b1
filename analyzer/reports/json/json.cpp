#include "analyzer/reports/json/json.hpp"

#include "analyzer/reader/shown_name.hpp"
#include "analyzer/reports/completeness_text.hpp"
#include "analyzer/reports/json/action_json.hpp"
#include "analyzer/reports/json/copy_json.hpp"
#include "analyzer/reports/json/locked_json.hpp"
#include "analyzer/reports/json/managed_json.hpp"
#include "analyzer/reports/notice_text.hpp"
#include "analyzer/reports/place_json.hpp"
#include "analyzer/reports/range_lines.hpp"
#include "analyzer/reports/recording_text.hpp"
#include "analyzer/symbols/demangle.hpp"

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <utility>
#include <vector>

namespace umadvisor::reports {
namespace {

using Json = nlohmann::ordered_json;

Json process_json(const advice::Report& report) {
    const reader::Dictionary& dictionary = report.trace.dictionary;
    Json object{{"program", report.profile.program()},
                {"pid", report.trace.file.header().pid},
                {"command_line", report.profile.command_line()},
                {"duration_ns", report.profile.duration_ns()},
                {"net_ns", report.profile.net_ns()},
                {"recorded_ns", report.profile.recorded_ns()},
                {"uses_runtime", report.profile.uses_runtime()}};
    if (!dictionary.processes.empty()) {
        const trace::Process& process = dictionary.processes.front();
        object["executable"] = process.executable;
        object["parent"] = process.parent;
        object["directory"] = process.directory;
        object["host"] = process.host;
        object["rank"] = process.rank;
    }
    if (const std::string part = recording_text(report.trace); !part.empty()) {
        const trace::Recording& recording = dictionary.recordings.front();
        object["recording"] = {{"cause", cause_word(recording.cause)},
                               {"number", recording.number},
                               {"begun_ns", recording.age_ns},
                               {"why", recording.why},
                               {"text", part}};
    }
    return object;
}

Json devices_json(const rules::Profile& profile) {
    Json list = Json::array();
    for (const trace::Device& device : profile.dictionary().devices)
        list.push_back(
            {{"ordinal", device.ordinal},
             {"name", device.device_name},
             {"memory_bytes", device.memory_bytes},
             {"compute_capability", fmt::format("{}.{}", device.compute_major, device.compute_minor)},
             {"managed_memory", device.managed_memory != 0},
             {"concurrent_managed_access", device.concurrent_managed_access != 0},
             {"pageable_memory_access", device.pageable_memory_access != 0},
             {"copy_engines", device.copy_engines},
             {"memory_mode", machine::word(profile.memory_mode(device))}});
    return list;
}

Json driver_json(const reader::Dictionary& dictionary) {
    if (dictionary.drivers.empty())
        return nullptr;
    const trace::Driver& driver = dictionary.drivers.front();
    return {{"version", driver.version},
            {"path", driver.path},
            {"simulated", driver.simulated != 0},
            {"release", driver.release}};
}

/// What savings were worked out with.
Json prices_json(const rules::Profile& profile) {
    const machine::Rates& rates = profile.rates();
    Json object{{"device", rates.device.empty() ? Json() : Json(rates.device)}, {"rates", Json::object()}};
    machine::Rates::each(rates, [&object](const char* name, double value) {
        if (value > 0)
            object["rates"][name] = value;
    });
    return object;
}

Json interpreters_json(const reader::Dictionary& dictionary) {
    Json list = Json::array();
    for (const trace::Interpreter& each : dictionary.interpreters)
        list.push_back({{"implementation", each.implementation},
                        {"frames_recorded", each.trouble.empty()},
                        {"trouble", each.trouble}});
    return list;
}

Json completeness_json(const reader::Trace& trace) {
    const reader::Completeness& c = trace.file.completeness();
    return {{"summary", completeness_summary(trace)},
            {"complete", c.closed && c.whole()},
            {"closed", c.closed},
            {"chunks_missing", c.chunks_missing},
            {"chunks_cut", c.chunks_cut},
            {"chunks_damaged", c.chunks_damaged},
            {"chunks_lost", c.sequences_missing},
            {"records_unknown", c.records_unknown},
            {"records_refused", c.records_refused},
            {"records_lacking", lacks_records(trace)},
            {"stacks_cut", trace.file.header().stacks_cut},
            {"lines", completeness_lines(trace)}};
}

Json dropped_json(const reader::Trace& trace) {
    Json object = Json::object();
    const auto& dropped = trace.file.header().dropped;
    for (std::size_t i = 0; i < dropped.size(); ++i)
        object[std::string(name(static_cast<trace::DropReason>(i)))] = dropped[i];
    return object;
}

Json stack_json(advice::Report& report, ids::StackId stack) {
    Json list = Json::array();
    for (const advice::Report::StackLine& line : report.whole_stack(stack))
        list.push_back(line.text);
    return list;
}

Json finding_json(advice::Report& report, const rules::Finding& finding) {
    const advice::ResolvedFinding resolved = resolve(report, finding);
    Json evidence = Json::object();
    for (const auto& [key, value] : finding.evidence)
        evidence[std::string(key)] = value;
    Json object{{"rule", finding.rule->id},
                {"name", finding.rule->name},
                {"title", finding.title},
                {"summary", finding.summary},
                {"details", finding.details},
                {"evidence", evidence},
                {"line", place_json(resolved.line)},
                {"stack", stack_json(report, finding.stack)},
                {"allocation", nullptr},
                {"places", Json::array()},
                {"advice", finding.advice},
                {"saving_ns", finding.saving_ns},
                {"saving_bytes", finding.saving_bytes},
                {"basis", finding.basis},
                {"confidence", name(finding.confidence)},
                {"parts", Json::array()},
                {"remedy", Json::array()},
                {"verify", resolved.verify}};
    for (const advice::ResolvedEdit& edit : resolved.remedy)
        object["remedy"].push_back(
            {{"kind", rules::name(edit.kind)}, {"text", edit.text}, {"line", place_json(edit.at)}});
    if (const auto patch = report.patches.find(&finding); patch != report.patches.end())
        object["patch"] = patch->second;
    if (finding.saving_at_most_ns > 0) {
        object["saving_at_least_ns"] = finding.saving_at_least_ns;
        object["saving_at_most_ns"] = finding.saving_at_most_ns;
    }
    if (const std::optional<rules::Difference> difference = rules::difference(finding)) {
        object["spent_ns"] = difference->spent_ns;
        object["left_ns"] = difference->left_ns;
    }
    if (finding.order != rules::Order::untouched)
        object["order"] = rules::name(finding.order);
    for (const rules::OrderLoss& pair : finding.lost_order)
        object["lost_order"].push_back({{"first", place_json(report, pair.first)},
                                        {"second", pair.by_host ? Json() : place_json(report, pair.second)},
                                        {"by_host", pair.by_host},
                                        {"times", pair.times}});
    if (finding.statement_ns > 0)
        object["statement_ns"] = finding.statement_ns;
    if (const auto& inside = report.profile.inside(); inside && inside->times != 0)
        object["per_step_ns"] = finding.saving_ns / static_cast<double>(inside->times);
    for (const rules::Finding::Part& part : finding.parts)
        object["parts"].push_back(part.rule->id);
    for (const advice::ResolvedPlace& each : resolved.others)
        object["places"].push_back({{"text", each.what}, {"line", place_json(each)}});
    if (resolved.memory)
        object["allocation"] = {{"text", finding.allocation_text}, {"line", place_json(*resolved.memory)}};
    return object;
}

struct Kernel {
    std::uint64_t count = 0, failed = 0, replayed = 0, timed = 0, measured = 0;
    double call_ticks = 0, device_ns = 0;
    tables::Basis basis = tables::Basis::measured;
};

Json launches_json(const rules::Profile& profile) {
    std::map<std::uint64_t, Kernel> kernels;
    const double ns_per_tick = static_cast<double>(profile.nanoseconds(1'000'000)) / 1e6;
    for (const auto& [group, totals] : profile.launches().groups()) {
        if (group.outside)
            continue;
        Kernel& kernel = kernels[group.function];
        const tables::DeviceTimeEstimate estimate = profile.launches().estimate(totals, ns_per_tick);
        kernel.count += totals.count;
        kernel.failed += totals.failed;
        kernel.replayed += totals.replayed;
        kernel.timed += totals.call_time.measured;
        kernel.call_ticks += profile.launches().call_ticks(totals);
        kernel.measured += totals.measured;
        kernel.device_ns += estimate.ns;
        kernel.basis = std::max(kernel.basis, estimate.basis); // no better than the worst part of the sum
    }
    Json list = Json::array();
    for (const auto& [function, kernel] : kernels) {
        const std::string_view symbol = profile.dictionary().function_symbol(function);
        list.push_back({{"function", symbols::demangle(symbol)},
                        {"symbol", symbol},
                        {"count", kernel.count},
                        {"failed", kernel.failed},
                        {"in_graphs", kernel.replayed},
                        {"call_time_ns", profile.estimated_nanoseconds(kernel.call_ticks)},
                        {"calls_timed", kernel.timed},
                        {"device_time_ns", kernel.device_ns},
                        {"device_time_basis", name(kernel.basis)},
                        {"device_time_samples", kernel.measured}});
    }
    return list;
}

Json allocations_json(advice::Report& report) {
    Json list = Json::array();
    for (const auto& [site, totals] : report.profile.allocations().sites())
        if (!site.stack.outside())
            list.push_back({{"memory", name(site.memory)},
                            {"call", report.profile.call_name(site.entry)},
                            {"variable", reader::shown_name(report.trace.dictionary.string(site.symbol))},
                            {"rewritten", site.origin == trace::Origin::umadvisor},
                            {"line", place_json(report, site.stack)},
                            {"count", totals.count},
                            {"failed", totals.failed},
                            {"bytes", totals.bytes},
                            {"largest_bytes", totals.largest},
                            {"peak_bytes", totals.peak_bytes},
                            {"live_at_end", totals.live},
                            {"time_ns", report.profile.nanoseconds(totals.ticks)},
                            {"residency_observed", totals.observed}});
    return list;
}

Json spinning_waits_json(const rules::Profile& profile) {
    const tables::SpinningWaits& waits = profile.spinning_waits();
    if (!waits.known())
        return {};
    return {{"count", waits.count()}, {"time_ns", profile.nanoseconds(waits.ticks())}};
}

Json calls_json(const rules::Profile& profile) {
    Json list = Json::array();
    for (const auto& [entry, totals] : profile.calls())
        list.push_back({{"entry", profile.dictionary().symbol(entry)},
                        {"call", profile.call_name(entry)},
                        {"count", totals.count},
                        {"failed", totals.failed},
                        {"time_ns", profile.nanoseconds(totals.time)},
                        {"timed", totals.time.measured},
                        {"dropped", totals.dropped}});
    return list;
}

Json dropped_calls_json(advice::Report& report) {
    Json list = Json::array();
    for (const reader::DroppedCalls& site : report.trace.dropped_calls) {
        const std::string_view symbol = report.profile.dictionary().function_symbol(site.function);
        list.push_back({{"entry", site.known ? Json(report.profile.dictionary().symbol(site.entry)) : Json()},
                        {"function", symbols::demangle(symbol)},
                        {"line", place_json(report, site.stack)},
                        {"count", site.calls},
                        {"failed", site.failed},
                        {"bytes", site.bytes},
                        {"time_ns", report.profile.nanoseconds(site.ticks)}});
    }
    return list;
}

Json counted_json(const rules::Profile& profile) {
    Json list = Json::array();
    for (const rules::CountedEntry& entry : profile.counted())
        list.push_back({{"entry", entry.symbol}, {"count", entry.count}, {"moves_memory", entry.moves_memory}});
    return list;
}

Json graphs_json(const rules::Profile& profile) {
    const tables::GraphWork& work = profile.graphs().work();
    tables::GraphTotals sum;
    for (const auto& [site, totals] : profile.graphs().sites()) {
        sum.ticks += totals.ticks;
        sum.measured += totals.measured;
        sum.measured_ns += totals.measured_ns;
    }
    return {{"launches", work.launches},
            {"failed", work.failed},
            {"captured", work.captured},
            {"unknown", work.unknown},
            {"call_time_ns", profile.nanoseconds(sum.ticks)},
            {"device_time_samples", sum.measured},
            {"device_time_sampled_ns", sum.measured_ns},
            {"versions", profile.dictionary().graph_versions.size()},
            {"kernels", work.kernels},
            {"copies", work.copies},
            {"copied_bytes", work.copied_bytes},
            {"sets", work.sets},
            {"conditional", work.conditional},
            {"untold", work.untold}};
}

} // namespace

Json to_json(advice::Report& report) {
    const rules::Profile& profile = report.profile;
    Json document{{"schema", "umadvisor-report-2"},
                  {"file", report.trace.file.path()},
                  {"process", process_json(report)},
                  {"devices", devices_json(report.profile)},
                  {"driver", driver_json(report.trace.dictionary)},
                  {"prices", prices_json(report.profile)},
                  {"interpreters", interpreters_json(report.trace.dictionary)},
                  {"completeness", completeness_json(report.trace)},
                  {"dropped", dropped_json(report.trace)},
                  {"dropped_calls", dropped_calls_json(report)},
                  {"recording_cost_ns", profile.own_ns()},
                  {"records", profile.records()}};
    document["looked_at"] = looked_at_json(report);
    document["ranges"] = ranges_json(report);
    Json list = Json::array();
    for (const rules::Finding& finding : report.findings)
        list.push_back(finding_json(report, finding));
    document["findings"] = std::move(list);
    document["findings_left_out"] = report.left_out;
    if (!report.unpriced.empty()) {
        Json unpriced = Json::array();
        for (const rules::Finding& finding : report.unpriced)
            unpriced.push_back(finding_json(report, finding));
        document["unpriced"] = std::move(unpriced);
    }
    if (!report.stopped.empty()) {
        Json stopped = Json::array();
        for (const rules::Finding& finding : report.stopped)
            stopped.push_back(finding_json(report, finding));
        document["stopped"] = std::move(stopped);
    }
    const timeline::Accuracy& accuracy = profile.replay_accuracy();
    document["replay"] = {{"hidden_waits", accuracy.hidden},
                          {"error_ns", static_cast<std::uint64_t>(accuracy.error_ns)},
                          {"hidden_ns", static_cast<std::uint64_t>(accuracy.hidden_ns)}};
    document["together_ns"] = report.together_ns;
    if (report.together_at_most_ns > 0) {
        document["together_at_least_ns"] = report.together_at_least_ns;
        document["together_at_most_ns"] = report.together_at_most_ns;
    }
    document["why_empty"] = report.findings.empty() ? Json(report.why_empty()) : Json(nullptr);
    document["copies"] = copies_json(profile);
    put_copy_lines(report, document);
    document["copies_failed"] = profile.copies().failed();
    document["copies_by_umadvisor"] = {{"count", profile.copies().own().count},
                                       {"bytes", profile.copies().own().bytes}};
    document["copies_staged"] = staged_json(profile);
    document["actions"] = actions_json(report);
    document["launches"] = launches_json(profile);
    if (Json pageable = pageable_json(report); !pageable.empty())
        document["pageable"] = std::move(pageable);
    document["graphs"] = graphs_json(profile);
    document["calls_captured"] = profile.captured();
    document["allocations"] = allocations_json(report);
    document["page_locked"] = locked_json(report);
    document["spinning_waits"] = spinning_waits_json(profile);
    document["managed"] = managed_json(report);
    document["calls"] = calls_json(profile);
    document["counted"] = counted_json(profile);
    Json lookups = Json::array();
    for (const trace::UnknownLookup& lookup : report.trace.dictionary.unknown_lookups)
        lookups.push_back({{"symbol", lookup.symbol},
                           {"version", lookup.version},
                           {"flags", lookup.flags},
                           {"object", lookup.object}});
    document["unknown_lookups"] = std::move(lookups);
    Json options = Json::object();
    for (const trace::Option& option : report.trace.dictionary.options)
        options[std::string(option.option)] = option.value;
    document["options"] = std::move(options);
    Json notices = Json::array();
    for (const trace::Notice& notice : report.trace.dictionary.notices)
        notices.push_back(notice_text(report, notice));
    document["notices"] = std::move(notices);
    document["warnings"] = report.symbolizer.warnings();
    return document;
}

} // namespace umadvisor::reports
