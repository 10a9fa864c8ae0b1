/// Work on the same bytes that nothing orders: UMA-602 to 604.
#include "analyzer/rules/hazards.hpp"
#include "analyzer/rules/finding.hpp"
#include "analyzer/rules/unknown_work.hpp"
#include "analyzer/rules/words.hpp"

#include <algorithm>
#include <iterator>
#include <map>
#include <string>
#include <tuple>
#include <utility>

namespace umadvisor::rules {
namespace {

bool is_of_source(HazardKind kind) {
    return kind == HazardKind::reused_source || kind == HazardKind::changed_source;
}

bool is_free(HazardKind kind) {
    return kind == HazardKind::freed_in_flight || kind == HazardKind::freed_at_once;
}

const Rule& rule_of(HazardKind kind) {
    return is_of_source(kind) ? uma_602 : is_free(kind) ? uma_603 : uma_604;
}

std::string use_text(const Profile& profile, AccessKind kind, std::uint64_t kernel) {
    const bool named = !profile.dictionary().function_symbol(kernel).empty();
    return kind == AccessKind::kernel ? (named ? "kernel " : "") + kernels_text(profile, {kernel})
           : kind == AccessKind::copy ? "a copy"
           : kind == AccessKind::set  ? "a memory set"
                                      : "a free";
}

std::string summary_of(const Profile& profile, const HazardSite& site, const HazardTotals& totals) {
    const std::string bytes = bytes_text(totals.bytes), times = count_text(totals.times, "time");
    const std::string first = use_text(profile, totals.first, totals.first_kernel);
    switch (site.kind) {
    case HazardKind::reused_source:
    case HazardKind::changed_source:
        return fmt::format(
            "the host changed the page-locked source, {}, {} before any call waited for the copy", bytes,
            times);
    case HazardKind::freed_in_flight:
        return fmt::format("the memory is freed on one stream while {} on another may still use it, {}; no "
                           "event or wait orders them",
                           first, times);
    case HazardKind::freed_at_once:
        return fmt::format("the call frees memory from a pool, which does not wait, while {} may still use it, "
                           "{}; the host does not wait in between",
                           first, times);
    default:
        return fmt::format(
            "{} on one stream and {} on another use the same {}, {}; at least one writes, and {}", first,
            use_text(profile, totals.second, totals.second_kernel), bytes, times,
            site.kind == HazardKind::lost_record ? "the event between them was recorded again in another "
                                                   "stream before anything waited for it"
                                                 : "no event or wait orders them");
    }
}

std::string advice_of(const Profile& profile, HazardKind kind) {
    const std::string prefix = profile.uses_runtime() ? "cuda" : "cu";
    switch (kind) {
    case HazardKind::reused_source:
    case HazardKind::changed_source:
        return fmt::format(
            "call {0}EventRecord(done, stream) after this copy and {0}EventSynchronize(done) before the host "
            "writes the buffer again; with two alternating buffers host and copy still overlap",
            prefix);
    case HazardKind::freed_in_flight:
        return fmt::format("free it on the stream that uses it last, or call {0}EventRecord(done, that stream) "
                           "after the use and {0}StreamWaitEvent(freeing stream, done) before this free",
                           prefix);
    case HazardKind::freed_at_once:
        return fmt::format("call {}{}(memory, stream) on the stream that uses it last, or wait for that stream "
                           "before this free",
                           prefix, profile.uses_runtime() ? "FreeAsync" : "MemFreeAsync");
    case HazardKind::lost_record:
        return "record a separate event on each stream and make the waiting stream wait for each: an event "
               "keeps only its latest record";
    default:
        return fmt::format(
            "call {0}EventRecord(done, first stream) after the first use and {0}StreamWaitEvent(second stream, "
            "done) before this call, or use one stream for both",
            prefix);
    }
}

/// The line to look at first, and the other one.
std::pair<ids::StackId, ids::StackId> lines_of(const HazardSite& site, const LineOf& line_of) {
    const ids::StackId first = line_of(site.first.stack), second = line_of(site.second.stack);
    return is_of_source(site.kind) ? std::pair(first, second) : std::pair(second, first);
}

std::string other_text(HazardKind kind) {
    return kind == HazardKind::reused_source    ? "it had changed when this upload ran"
           : kind == HazardKind::changed_source ? "it had changed before this call"
           : is_free(kind)                      ? "used here"
                                                : "the first use is here";
}

Finding describe(const Profile& profile, const LineOf& line_of, const HazardSite& site,
                 const HazardTotals& totals) {
    Finding finding;
    finding.rule = &rule_of(site.kind);
    finding.title = finding.rule->title;
    const auto [line, other] = lines_of(site, line_of);
    finding.stack = line;
    if (other != line)
        finding.places.emplace_back(other_text(site.kind), other);
    if (site.kind == HazardKind::lost_record)
        finding.places.emplace_back("the event is recorded again here", line_of(totals.lost.replaced_at.stack));
    finding.allocation_stack = line_of(totals.allocation.stack);
    finding.allocation_text =
        profile.call_name(totals.allocation.entry) + " " + bytes_text(totals.allocation_bytes);
    finding.summary = summary_of(profile, site, totals);
    finding.evidence = {{"times", static_cast<double>(totals.times)},
                        {"times_in_flight", static_cast<double>(totals.proved)},
                        {"left_ns", totals.left_ns},
                        {"bytes", static_cast<double>(totals.bytes)}};
    finding.details.push_back(
        fmt::format("when the {}, {} still had at least {} to run, by measured times",
                    site.kind == HazardKind::reused_source    ? "changed source was uploaded again"
                    : site.kind == HazardKind::changed_source ? "source was seen to have changed"
                    : is_free(site.kind)                      ? "free was called"
                                                              : "second use was called",
                    is_of_source(site.kind) ? "the copy" : "the first use", time_text(totals.left_ns)));
    finding.advice = advice_of(profile, site.kind);
    finding.basis = "fixes a wrong result; no time is saved";
    finding.confidence = Confidence::high;
    return finding;
}

} // namespace

std::vector<Finding> find_hazards(const Profile& profile, const LineOf& line_of) {
    if (work_is_unknown(profile) || profile.paused() || !profile.trace().file.completeness().whole())
        return {};
    std::map<std::tuple<HazardKind, ids::StackId, ids::StackId>, std::pair<HazardSite, HazardTotals>> by_lines;
    for (const auto& [site, totals] : profile.counted<Hazards>().sites()) {
        if (!is_of_source(site.kind) && memory_use_is_unknown(profile))
            continue;
        const auto [line, other] = lines_of(site, line_of);
        const auto [known, fresh] = by_lines.try_emplace({site.kind, line, other}, site, totals);
        if (fresh)
            continue;
        HazardTotals& sum = known->second.second;
        sum.times += totals.times;
        sum.proved += totals.proved;
        sum.left_ns = std::max(sum.left_ns, totals.left_ns);
    }
    std::vector<Finding> findings;
    for (const auto& [lines, hazard] : by_lines) {
        const Finding finding = describe(profile, line_of, hazard.first, hazard.second);
        const auto same = std::ranges::find_if(findings, [&](const Finding& each) {
            return each.rule == finding.rule && each.stack == finding.stack;
        });
        if (same == findings.end())
            findings.push_back(finding);
        else
            std::ranges::copy(finding.places, std::back_inserter(same->places));
    }
    return findings;
}

constinit const Rule uma_602{.id = "UMA-602",
                             .name = "reused-source",
                             .title = "the source of an upload changes before the copy is done",
                             .find = &find_hazards,
                             .counter = &count<Hazards>,
                             .urgency = Urgency::wrong_result};

constinit const Rule uma_603{.id = "UMA-603",
                             .name = "freed-in-flight",
                             .title = "memory freed while another stream still uses it",
                             .find = &find_hazards,
                             .counter = &count<Hazards>,
                             .urgency = Urgency::wrong_result};

constinit const Rule uma_604{.id = "UMA-604",
                             .name = "unordered-streams",
                             .title = "streams use the same memory without ordering",
                             .find = &find_hazards,
                             .counter = &count<Hazards>,
                             .urgency = Urgency::wrong_result};

} // namespace umadvisor::rules
