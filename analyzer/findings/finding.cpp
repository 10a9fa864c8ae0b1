#include "analyzer/findings/finding.hpp"

#include "analyzer/findings/words.hpp"

#include <algorithm>
#include <array>
#include <iterator>
#include <string_view>
#include <utility>

namespace umadvisor::findings {
namespace {

constexpr std::array<std::string_view, 3> confidences{"low", "medium", "high"};

/// A pageable copy waits for the device in its own call, and both its rules and the one on such waits count
/// that. Page-locked memory that is kept and page-locked memory that is given up are two remedies for the same
/// calls.
bool same_call(const Finding& one, const Finding& other) {
    const auto copies = [](const Finding& finding) {
        return finding.rule == &rule("UMA-101") || finding.rule == &rule("UMA-102");
    };
    const auto waits = [](const Finding& finding) { return finding.rule == &rule("UMA-503"); };
    const auto is = [](const Finding& finding, const Rule& one_rule) { return finding.rule == &one_rule; };
    const auto locks = [&is](const Finding& first, const Finding& second) {
        return is(first, rule("UMA-407")) && is(second, rule("UMA-409"));
    };
    return one.stack == other.stack && one.stack != 0 &&
           ((copies(one) && waits(other)) || (waits(one) && copies(other)) || locks(one, other) ||
            locks(other, one));
}

/// Those that save most come first.
std::vector<Finding> fold_same_calls(std::vector<Finding> all) {
    std::vector<Finding> kept;
    for (Finding& each : all) {
        const auto larger =
            std::ranges::find_if(kept, [&each](const Finding& other) { return same_call(other, each); });
        if (larger == kept.end())
            kept.push_back(std::move(each));
        else
            fold(*larger, each);
    }
    return kept;
}

} // namespace

std::string_view name(Confidence confidence) {
    return confidences[static_cast<std::size_t>(confidence)];
}

std::optional<Confidence> confidence_called(std::string_view text) {
    const auto found = std::ranges::find(confidences, text);
    if (found == confidences.end())
        return std::nullopt;
    return static_cast<Confidence>(found - confidences.begin());
}

double within_recorded(const model::Profile& profile, double saving_ns) {
    const auto recorded = static_cast<double>(profile.recorded_ns());
    return recorded > 0 ? std::min(saving_ns, recorded) : saving_ns;
}

void fold(Finding& larger, const Finding& part) {
    larger.parts.push_back({part.rule, part.advice});
    larger.details.push_back("in part also " + std::string(part.rule->id) + ", " + part.title +
                             "; that alone would save " + time_text(part.saving_ns) + ": " + part.advice);
}

std::vector<Finding> find_all(const model::Profile& profile, const LineOf& line_of) {
    std::vector<Finding> all;
    for (const auto find : {&find_allocation_churn, &find_constant_uploads,
                            &find_default_stream,   &find_early_syncs,
                            &find_far_nodes,        &find_fragmentation,
                            &find_host_blocked,     &find_idle_memory,
                            &find_implicit_syncs,   &find_leaked,
                            &find_managed,          &find_managed_churn,
                            &find_managed_copies,   &find_narrow_rows,
                            &find_never_used,       &find_oversized,
                            &find_pageable_copies,  &find_pinned_once,
                            &find_pinned_overuse,   &find_polling,
                            &find_redundant_syncs,  &find_repeated_registrations,
                            &find_repeated_uploads, &find_reusable_memory,
                            &find_scalar_downloads, &find_serial_copies,
                            &find_small_copies,     &find_through_host,
                            &find_unused_transfers, &find_used_once})
        std::ranges::move(find(profile, line_of), std::back_inserter(all));
    for (Finding& finding : all)
        finding.saving_ns = within_recorded(profile, finding.saving_ns);
    std::ranges::stable_sort(all, std::ranges::greater{}, [](const Finding& finding) {
        return std::pair(finding.saving_ns, finding.saving_bytes);
    });
    return fold_same_calls(std::move(all));
}

} // namespace umadvisor::findings
