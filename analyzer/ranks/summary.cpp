#include "analyzer/ranks/summary.hpp"

#include "analyzer/advice/report.hpp"
#include "analyzer/advice/resolved.hpp"
#include "analyzer/facts/host_times.hpp"
#include "analyzer/reader/range_choice.hpp"
#include "analyzer/reader/shown_name.hpp"
#include "analyzer/tables/named_ranges.hpp"

#include <algorithm>
#include <filesystem>
#include <map>
#include <set>

namespace umadvisor::ranks {
namespace {

constexpr std::size_t most_steps = 64, most_lines = 16, longest_name = 200;

std::string shortened(std::string_view text) {
    return reader::shown_name(text, longest_name);
}

/// docs.nvidia.com, "NCCL" and "NVSHMEM": kernels of theirs run until all ranks have come.
bool is_collective(std::string_view symbol) {
    return symbol.starts_with("nccl") || symbol.starts_with("nvshmem") ||
           symbol.find("ncclDevKernel") != std::string_view::npos ||
           symbol.find("ncclKernel") != std::string_view::npos;
}

void add_kernels(const rules::Profile& profile, Summary& summary) {
    const double ns_per_tick = static_cast<double>(profile.nanoseconds(1'000'000)) / 1e6;
    for (const auto& [group, totals] : profile.launches().groups()) {
        const bool collective = is_collective(profile.dictionary().function_symbol(group.function));
        summary.of(collective ? Quantity::collectives : Quantity::kernels) +=
            profile.launches().estimate(totals, ns_per_tick).ns;
    }
}

void add_copies(const rules::Profile& profile, Summary& summary) {
    const tables::Copies& copies = profile.copies();
    for (const auto& [site, totals] : copies.sites())
        if (totals.direction == facts::Direction::HtoD || totals.direction == facts::Direction::DtoH)
            summary.of(totals.direction == facts::Direction::HtoD ? Quantity::to_device : Quantity::to_host) +=
                static_cast<double>(totals.small.bytes + totals.large.bytes);
    summary.of(Quantity::up_rate) = copies.link(facts::Direction::HtoD).bytes_per_second();
    summary.of(Quantity::down_rate) = copies.link(facts::Direction::DtoH).bytes_per_second();
    const managed::MovedBytes moved = profile.managed().totals().moved();
    summary.of(Quantity::managed) = static_cast<double>(moved.to_device) + static_cast<double>(moved.to_host);
}

void add_steps(const advice::Report& report, Summary& summary) {
    const reader::Dictionary& dictionary = report.trace.dictionary;
    for (const auto& [key, totals] : report.profile.ranges().names())
        if (totals.count != 0 && !reader::is_library_domain(dictionary.string(totals.domain)))
            summary.steps.push_back({shortened(dictionary.string(totals.text)),
                                     shortened(dictionary.string(totals.domain)), totals.count,
                                     totals.median().all_ns, totals.worst.all_ns, totals.total.all_ns});
    std::ranges::stable_sort(summary.steps, std::ranges::greater{}, &Step::total_ns);
    if (summary.steps.size() > most_steps)
        summary.steps.resize(most_steps);
}

/// The `most` that have most of `what`, in front.
template <class List>
void bring_forward(List& list, std::size_t most, double Line::*what) {
    const auto end = list.begin() + static_cast<std::ptrdiff_t>(std::min(most, list.size()));
    std::ranges::partial_sort(list, end, std::ranges::greater{},
                              [what](const auto& each) { return each.second.*what; });
}

/// Only stacks that count are looked up: a trace may have many thousands.
void add_lines(advice::Report& report, Summary& summary) {
    constexpr std::size_t most_stacks = 4 * most_lines;
    const rules::Profile& profile = report.profile;
    std::map<ids::StackId, Line> by_stack;
    for (const auto& [site, ticks] : profile.waits().ticks())
        by_stack[site.stack].ns += static_cast<double>(profile.nanoseconds(ticks));
    for (const auto& [site, totals] : profile.copies().sites())
        by_stack[site.stack].bytes += static_cast<double>(totals.small.bytes + totals.large.bytes);
    std::erase_if(by_stack, [](const auto& each) { return !each.first.known(); });
    std::vector<std::pair<ids::StackId, Line>> stacks(by_stack.begin(), by_stack.end());
    std::map<std::string, Line> by_text;
    const auto take = [&](auto& from, std::size_t most, double Line::*what, const auto& then) {
        bring_forward(from, most, what);
        for (std::size_t i = 0; i < std::min(most, from.size()); ++i)
            if (from[i].second.*what > 0)
                then(from[i]);
    };
    std::set<ids::StackId> taken;
    for (double Line::*const what : {&Line::ns, &Line::bytes})
        take(stacks, most_stacks, what, [&](const auto& each) {
            if (!taken.insert(each.first).second)
                return;
            Line& line = by_text[shortened(report.symbolizer.line(each.first).text())];
            line.ns += each.second.ns;
            line.bytes += each.second.bytes;
        });
    std::vector<std::pair<std::string, Line>> lines(by_text.begin(), by_text.end());
    std::set<std::string> written;
    for (double Line::*const what : {&Line::ns, &Line::bytes})
        take(lines, most_lines, what, [&](const auto& each) {
            if (written.insert(each.first).second)
                summary.lines.push_back({each.first, each.second.ns, each.second.bytes});
        });
}

std::uint64_t calls_of(const rules::Profile& profile) {
    std::uint64_t count = 0;
    for (const auto& [entry, totals] : profile.calls())
        count += totals.count;
    return count;
}

} // namespace

const std::array<QuantityWords, quantities> quantity_words{{
    {"run_ns", "run", Unit::time},
    {"own_ns", "in the program's own code", Unit::time},
    {"copies_ns", "in copies", Unit::time},
    {"calls_ns", "in other CUDA calls", Unit::time},
    {"waits_ns", "waiting for the device", Unit::time},
    {"kernels_ns", "in kernels", Unit::time},
    {"collectives_ns", "in collectives", Unit::time},
    {"to_device_bytes", "copied to the device", Unit::bytes},
    {"to_host_bytes", "copied to the host", Unit::bytes},
    {"to_device_bytes_per_s", "link to the device", Unit::rate},
    {"to_host_bytes_per_s", "link to the host", Unit::rate},
    {"managed_bytes", "managed memory moved", Unit::bytes},
    {"gain_ns", "all findings save", Unit::time},
}};

std::string Summary::key() const {
    return fmt::format("{}/{}/{}", host, pid, begin_ns);
}

std::string Summary::who() const {
    return rank.empty() ? fmt::format("pid {}", pid) : "rank " + rank;
}

Summary summarize(advice::Report& report) {
    const rules::Profile& profile = report.profile;
    const reader::Dictionary& dictionary = report.trace.dictionary;
    const reader::Header& header = report.trace.file.header();
    Summary summary;
    if (!dictionary.processes.empty()) {
        summary.rank = shortened(dictionary.processes.front().rank);
        summary.host = shortened(dictionary.processes.front().host);
    }
    summary.program = shortened(profile.program());
    summary.device = shortened(profile.device());
    summary.trace = shortened(std::filesystem::path(report.trace.file.path()).filename().string());
    summary.pid = header.pid;
    summary.begin_ns = header.realtime_ns;
    summary.node = dictionary.devices.empty() ? 0 : dictionary.devices.front().node;
    summary.complete = report.trace.file.completeness().closed && report.trace.file.completeness().whole() &&
                       profile.dropped() == 0;
    summary.calls = calls_of(profile);

    const facts::CallTimes times = profile.host_times();
    const auto run_ns = static_cast<double>(profile.net_ns());
    summary.of(Quantity::run) = run_ns;
    summary.of(Quantity::own) = std::max(0.0, run_ns - times.all_ns());
    summary.of(Quantity::copies) = times.copy_ns;
    summary.of(Quantity::calls) = times.call_ns;
    summary.of(Quantity::waits) = times.wait_ns;
    summary.of(Quantity::gain) = report.together_ns;
    add_kernels(profile, summary);
    add_copies(profile, summary);
    add_steps(report, summary);
    add_lines(report, summary);
    for (const std::vector<rules::Finding>* const list : {&report.findings, &report.unpriced})
        for (const rules::Finding& finding : *list)
            summary.findings.push_back({std::string(finding.rule->id), shortened(finding.title),
                                        shortened(advice::resolve(report, finding).line.text()),
                                        std::string(rules::name(finding.confidence)), finding.saving_ns,
                                        finding.saving_bytes, finding.unpriced});
    return summary;
}

} // namespace umadvisor::ranks
