#include "analyzer/reports/text/text.hpp"

#include "analyzer/advice/resolved.hpp"
#include "analyzer/reports/completeness_text.hpp"
#include "analyzer/reports/locked_lines.hpp"
#include "analyzer/reports/notice_text.hpp"
#include "analyzer/reports/pageable_lines.hpp"
#include "analyzer/reports/range_lines.hpp"
#include "analyzer/reports/text/action_text.hpp"
#include "analyzer/reports/text/call_times.hpp"
#include "analyzer/reports/text/estimate_text.hpp"
#include "analyzer/reports/text/managed_text.hpp"
#include "analyzer/rules/library_memory.hpp"
#include "analyzer/rules/unknown_work.hpp"
#include "analyzer/rules/words.hpp"
#include "analyzer/text/terminal_text.hpp"

#include <algorithm>
#include <map>
#include <ostream>
#include <set>
#include <sstream>

namespace umadvisor::reports {
namespace {

using text::count_text;
using text::time_text;

constexpr std::size_t title_width = 60;
constexpr double least_share =
    0.01; ///< of the time or of the device's memory, for a finding to be shown in full
/// So that a report fits one screen.
constexpr std::size_t most_full = 5, most_full_places = 2, most_small = 5;
constexpr std::size_t most_holders = 4; ///< of memory, where an allocation failed
constexpr std::size_t most_counted = 8; ///< entry points named in one line
constexpr std::size_t most_dropped = 3; ///< call sites of dropped calls named

/// As findings count it: without the start of CUDA, which stands beside it.
std::string length_text(const rules::Profile& profile) {
    const std::string whole = time_text(profile.duration_ns());
    if (profile.trace().file.header().late) // CUDA had started, and the pause at its end is not the recording's
        return time_text(profile.recorded_ns());
    if (profile.paused())
        return fmt::format("recorded {} of {}", time_text(profile.recorded_ns()), whole);
    const std::uint64_t start_ns =
        profile.inside() ? 0 : profile.duration_ns() - std::min(profile.net_ns(), profile.duration_ns());
    constexpr std::uint64_t least_part = 1000; // simcuda starts at once
    return start_ns * least_part < profile.duration_ns()
               ? whole
               : fmt::format("{} + {} to start CUDA", time_text(profile.net_ns()), time_text(start_ns));
}

/// What the graphs of the program did, in a line; empty where it has none.
std::string graphs_text(const tables::GraphWork& work) {
    if (work.launches == 0)
        return {};
    std::string text = fmt::format("{} ran {} and {}", count_text(work.launches, "graph launch"),
                                   count_text(work.kernels, "kernel"), count_text(work.copies, "copy"));
    if (work.copied_bytes != 0)
        text += " (" + text::bytes_text(work.copied_bytes) + ")";
    if (work.failed != 0)
        text += fmt::format("; {} failed", work.failed);
    return text;
}

/// What graphs did that is in no figure; empty where that is nothing.
std::string unseen_graph_text(const tables::GraphWork& work) {
    std::string text;
    const auto add = [&text](const std::string& part) { text += (text.empty() ? "" : "; ") + part; };
    if (work.unknown != 0)
        add(count_text(work.unknown, "graph launch") + " whose nodes are unknown");
    if (work.conditional != 0)
        add(count_text(work.conditional, "piece") +
            " of work below conditional nodes of graphs, which the device runs as often as it decides");
    if (work.untold != 0)
        add(count_text(work.untold, "node") + " of graphs too large to be recorded");
    return text.empty() ? text : text + ": in no figure below";
}

std::string unrecorded_text(const rules::Profile& profile) {
    std::uint64_t calls = 0;
    std::string names;
    std::size_t named = 0;
    for (const rules::CountedEntry& entry : profile.counted()) {
        if (!entry.moves_memory)
            continue;
        calls += entry.count;
        if (named++ < most_counted)
            names += fmt::format("{}{} x {}", names.empty() ? "" : ", ", entry.symbol, entry.count);
    }
    return calls == 0 ? "" : count_text(calls, "call") + " that move memory counted but not recorded: " + names;
}

void write_place(std::ostream& out, advice::Report& report, const advice::ResolvedPlace& at) {
    out << "    " << at.text() << "   " << at.what << "\n";
    if (!at.source.empty())
        out << "        "
            << text::Styled{text::Style::source, fmt::format("{} |   {}", at.place.line, at.source)} << "\n";
    if (!report.full_stacks)
        return;
    std::size_t number = 0;
    for (const advice::Report::StackLine& line : report.whole_stack(at.stack))
        out << "        #" << number++ << " " << line.text << (line.inlined ? " (inlined)" : "") << "\n";
}

text::Style style_of(rules::Confidence confidence) {
    return confidence == rules::Confidence::high     ? text::Style::high
           : confidence == rules::Confidence::medium ? text::Style::medium
                                                     : text::Style::low;
}

/// Where only some ranges are looked at: what it saves of each.
std::string per_step_text(const advice::Report& report, const rules::Finding& finding) {
    const auto& inside = report.profile.inside();
    if (!inside || inside->times < 2 || finding.saving_ns <= 0)
        return {};
    return " (" + time_text(finding.saving_ns / static_cast<double>(inside->times)) + " of each range)";
}

/// Sentences and the number of the finding that has them first.
using Said = std::map<std::string, std::size_t>;

/// The text, or where the reader has seen it.
std::string once(Said& said, const std::string& text, std::size_t number) {
    const std::size_t first = said.try_emplace(text, number).first->second;
    return first == number ? text : fmt::format("as for finding {}", first);
}

/// What it assumes, and the diff.
void write_patch(std::ostream& out, const std::string& patch) {
    std::istringstream lines(patch.substr(patch.find('\n') + 1));
    out << "    patch:\n";
    for (std::string line; std::getline(lines, line);)
        if (!line.empty())
            out << "      " << line << "\n";
}

void write_finding(std::ostream& out, advice::Report& report, const rules::Finding& finding, std::size_t number,
                   Said& said) {
    const advice::ResolvedFinding resolved = resolve(report, finding);
    const auto total = static_cast<double>(report.profile.net_ns());
    const std::string title = fmt::format("{} {}", finding.rule->id, finding.title);
    out << "\n"
        << (number < 10 ? " " : "") << number << "  " << text::Styled{text::Style::title, title}
        << std::string(std::max(title.size() + 2, title_width) - title.size(), ' ')
        << text::saving_lead(finding.saving_ns, finding.saving_bytes)
        << text::Styled{text::Style::saving, text::saving_text(finding.saving_ns, finding.saving_bytes, total)}
        << per_step_text(report, finding) << " · confidence "
        << text::Styled{style_of(finding.confidence), name(finding.confidence)} << "\n";
    write_place(out, report, resolved.line);
    if (resolved.memory && resolved.memory->stack.known())
        write_place(out, report, *resolved.memory);
    else if (resolved.memory)
        out << "    " << resolved.memory->what << "\n";
    const std::size_t most = finding.rule->name == "calls-fail" ? most_holders : most_full_places;
    const std::size_t places = report.all ? resolved.others.size() : std::min(resolved.others.size(), most);
    for (std::size_t i = 0; i < places; ++i)
        write_place(out, report, resolved.others[i]);
    if (places != resolved.others.size())
        out << "    and " << count_text(resolved.others.size() - places, "further line") << " (--all)\n";
    for (const std::string& detail : finding.details)
        out << "    " << detail << "\n";
    out << "    do: " << once(said, finding.advice, number) << "   (umadvisor explain " << finding.rule->id
        << ")\n";
    if (const auto patch = report.patches.find(&finding); patch != report.patches.end())
        write_patch(out, patch->second);
    if (finding.saving_at_most_ns > 0)
        out << "    " << bounds_text(finding) << "\n";
    if (finding.saving_ns > 0 || finding.saving_bytes != 0)
        out << "    basis: " << once(said, finding.basis, number) << "\n";
}

/// The largest device's.
std::uint64_t device_memory(const advice::Report& report) {
    std::uint64_t most = 0;
    for (const trace::Device& device : report.trace.dictionary.devices)
        most = std::max(most, device.memory_bytes);
    return most;
}

bool saves_little(const advice::Report& report, const rules::Finding& finding) {
    const bool memory =
        finding.saving_bytes != 0 &&
        static_cast<double>(finding.saving_bytes) >= least_share * static_cast<double>(device_memory(report));
    const bool fails = finding.saving_ns == 0 && finding.saving_bytes == 0 && !finding.harmless;
    return !memory && !fails && finding.saving_ns < least_share * static_cast<double>(report.profile.net_ns());
}

/// Lists findings that save little, and those for which one screen has no room.
void write_small(std::ostream& out, advice::Report& report, const std::vector<const rules::Finding*>& small) {
    if (small.empty())
        return;
    double saving_ns = 0;
    for (const rules::Finding* const finding : small)
        saving_ns += finding->saving_ns;
    const bool only_small = small.size() == report.findings.size();
    out << "\n    " << (only_small && saving_ns > 0 ? "nothing large was found; " : "")
        << count_text(small.size(), only_small ? "small finding" : "further finding")
        << (saving_ns > 0 ? fmt::format(", {} in all", time_text(saving_ns)) : "") << " (details: --all):\n";
    for (std::size_t i = 0; i < std::min(small.size(), most_small); ++i) {
        const rules::Finding& finding = *small[i];
        out << "      " << finding.rule->id << " " << finding.title << "   "
            << (finding.stack.known() ? report.symbolizer.line(finding.stack).text() : "no stack recorded")
            << "   " << text::saving_lead(finding.saving_ns, finding.saving_bytes)
            << text::Styled{text::Style::saving, text::saving_text(finding.saving_ns, finding.saving_bytes)}
            << "\n";
    }
    if (small.size() > most_small)
        out << "      and " << small.size() - most_small << " more\n";
    if (const std::string unseen = only_small ? report.unseen() : ""; !unseen.empty())
        out << "    not visible in this run: " << unseen << "\n";
}

/// Findings whose saving is unknown here.
void write_unpriced(std::ostream& out, advice::Report& report) {
    if (report.unpriced.empty())
        return;
    out << "\n    seen, but what " << (report.unpriced.size() == 1 ? "it costs" : "they cost")
        << " is not known:\n";
    for (std::size_t i = 0; i < report.unpriced.size() && (report.all || i < most_small); ++i) {
        const rules::Finding& finding = report.unpriced[i];
        out << "      " << finding.rule->id << " " << finding.title << "   "
            << (finding.stack.known() ? report.symbolizer.line(finding.stack).text() : "no stack recorded")
            << "\n"
            << "        " << finding.summary << "\n        do: " << finding.advice
            << "\n        basis: " << finding.basis << "\n";
    }
    if (!report.all && report.unpriced.size() > most_small)
        out << "      and " << report.unpriced.size() - most_small << " more (--all)\n";
}

/// What the trace holds of the calls that it dropped: the sites that took longest.
void write_dropped_calls(std::ostream& out, advice::Report& report) {
    const std::vector<reader::DroppedCalls>& sites = report.trace.dropped_calls;
    if (sites.empty())
        return;
    std::uint64_t calls = 0;
    for (const reader::DroppedCalls& site : sites)
        calls += site.calls;
    out << "  ! of the " << count_text(calls, "call") << " dropped, numbers by call site are all that is known;"
        << " findings do without them:\n";
    for (std::size_t i = 0; i < std::min(sites.size(), most_dropped); ++i)
        out << "      " << count_text(sites[i].calls, "call") << " of "
            << (sites[i].known ? report.profile.call_name(sites[i].entry) : "other sites") << ", "
            << time_text(report.profile.nanoseconds(sites[i].ticks)) << "   "
            << (sites[i].stack.known() ? report.symbolizer.line(sites[i].stack).text() : "") << "\n";
    if (sites.size() > most_dropped)
        out << "      and " << count_text(sites.size() - most_dropped, "further site") << "\n";
}

void write_lookups(std::ostream& out, const reader::Dictionary& dictionary) {
    std::set<std::string_view> unknown;
    std::map<std::string_view, std::set<std::string_view>> past; ///< by object
    for (const trace::UnknownLookup& lookup : dictionary.unknown_lookups)
        (lookup.object.empty() ? unknown : past[lookup.object]).insert(lookup.symbol);
    const auto write = [&out](const std::set<std::string_view>& symbols) {
        for (const std::string_view symbol : symbols)
            out << " " << symbol;
        out << "\n";
    };
    if (!unknown.empty()) {
        out << "  ! the program was handed " << count_text(unknown.size(), "entry point")
            << " unknown to umadvisor; calls through them are not seen:";
        write(unknown);
    }
    for (const auto& [object, symbols] : past) {
        out << "  ! look-ups were missed: " << object
            << " reaches the driver past umadvisor (opened with RTLD_DEEPBIND?); its calls are not seen:";
        write(symbols);
    }
}

/// Findings that cost nothing here, since the host is the slower one.
std::vector<std::string> hidden_lines(advice::Report& report) {
    constexpr std::size_t most_hidden = 3;
    std::vector<std::string> lines;
    for (const rules::Finding& finding : report.hidden) {
        if (lines.size() == most_hidden)
            break;
        lines.push_back(
            fmt::format("{}: {} ({}), no gain: {} in these waits, but the host takes longer than the device",
                        report.symbolizer.line(finding.stack).text(), finding.title, finding.rule->id,
                        time_text(finding.saving_ns)));
    }
    return lines;
}

/// A context on device 0 that nothing used, and how a program makes none. Empty: there is none, or its use is
/// not known.
std::string default_context_text(advice::Report& report) {
    const rules::Profile& profile = report.profile;
    const auto made = profile.default_context().unused();
    if (!made || profile.paused() || rules::work_is_unknown(profile) ||
        !profile.trace().file.completeness().whole())
        return {};
    return fmt::format("device 0 has a context that nothing used: no work and no allocation of 2 MiB or more "
                       "was there ({} to make it{}); it takes memory of that device: choose the device before "
                       "any other call ({}), or hide device 0 by CUDA_VISIBLE_DEVICES",
                       text::time_text(profile.nanoseconds(made->ticks)),
                       made->site.stack.known() ? ", at " + report.symbolizer.line(made->site.stack).text()
                                                : "",
                       profile.uses_runtime() ? "cudaSetDevice, in PyTorch torch.cuda.set_device"
                                              : "cuDevicePrimaryCtxRetain");
}

void write_notes(std::ostream& out, advice::Report& report) {
    for (const std::string& line : completeness_lines(report.trace))
        out << "  ! " << line << "\n";
    write_dropped_calls(out, report);
    if (const std::string text = unrecorded_text(report.profile); !text.empty())
        out << "  ! " << text << "\n";
    const tables::GraphWork& graphs = report.profile.graphs().work();
    if (const std::string text = unseen_graph_text(graphs); !text.empty())
        out << "  ! " << text << "\n";
    if (const std::string text = looked_at_text(report); !text.empty())
        out << "  - " << text << "\n";
    if (const std::string text = steps_text(report); !text.empty())
        out << "  - steps: " << text << "\n";
    if (const std::string text = call_times_text(report.profile); !text.empty())
        out << "  - time in calls: " << text << "\n";
    if (const std::string text = graphs_text(graphs); !text.empty())
        out << "  - " << text << "\n";
    if (const std::string text = rules::library_memory_text(report.profile); !text.empty())
        out << "  - memory of libraries: " << text << "\n";
    write_locked(out, report);
    write_pageable(out, report);
    write_disk_copies(out, report);
    if (const std::string text = replay_text(report); !text.empty())
        out << "  - " << text << "\n";
    if (const std::string text = default_context_text(report); !text.empty())
        out << "  - " << text << "\n";
    if (const std::string text = spinning_text(report.profile); !text.empty())
        out << "  - " << text << "\n";
    if (const std::string text = questions_text(report.profile); !text.empty())
        out << "  - " << text << "\n";
    for (const std::string& text : hidden_lines(report))
        out << "  - " << text << "\n";
    if (const std::string text = together_text(report); !text.empty())
        out << "  - " << text << "\n";
    const reader::Dictionary& dictionary = report.trace.dictionary;
    write_lookups(out, dictionary);
    if (report.profile.copies().own().count != 0)
        out << "  - umadvisor itself made " << count_text(report.profile.copies().own().count, "copy")
            << "; they are in no figure below\n";
    for (const trace::Notice& notice : dictionary.notices)
        if (!is_action_notice(notice)) // they have a section
            out << "  - " << notice_text(report, notice) << "\n";
}

} // namespace

std::string headline(const advice::Report& report) {
    const rules::Profile& profile = report.profile;
    const std::string unrecorded = unrecorded_text(profile);
    const std::size_t lookups = report.trace.dictionary.unknown_lookups.size();
    return fmt::format("{} · pid {} · {} · {} · {} · {}{} · recording cost about {}, included",
                       profile.program(), report.trace.file.header().pid, length_text(profile),
                       profile.devices_with_modes(), completeness_summary(report.trace),
                       unrecorded.empty() ? "no unrecorded calls" : unrecorded.substr(0, unrecorded.find(':')),
                       lookups == 0 ? "" : " · " + count_text(lookups, "unknown look-up"),
                       time_text(profile.own_ns()));
}

void write_text(advice::Report& report, std::ostream& out) {
    out << headline(report) << "\n";
    write_notes(out, report);
    std::vector<const rules::Finding*> small;
    std::size_t number = 0;
    Said said;
    for (const rules::Finding& finding : report.findings) {
        if (!report.all && (number == most_full || saves_little(report, finding)))
            small.push_back(&finding);
        else
            write_finding(out, report, finding, ++number, said);
    }
    write_small(out, report, small);
    write_unpriced(out, report);
    if (report.findings.empty())
        out << "\n    " << report.why_empty() << "\n";
    else if (report.left_out != 0)
        out << "\n    " << count_text(report.left_out, "further finding") << " omitted, as requested\n";
    write_actions(report, out);
    write_managed(report, out);
    for (const std::string& warning : report.symbolizer.warnings())
        out << "\n  ! " << warning << "\n";
}

} // namespace umadvisor::reports
