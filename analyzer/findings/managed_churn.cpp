/// Managed memory that one line allocates again and again: each time the driver makes page tables and takes
/// them down, and each time the pages come into being anew.
#include "analyzer/findings/churn_lines.hpp"
#include "analyzer/findings/words.hpp"

#include <algorithm>

namespace umadvisor::findings {
namespace {

Finding describe_managed_churn(const model::Profile& profile, std::uint64_t stack, const ChurnLine& line) {
    const auto pairs = static_cast<double>(line.pairs);
    const double waited_ns = std::max(0.0, line.free_ns - line.own_free_ns);

    Finding finding;
    finding.rule = &rule("UMA-410");
    finding.title = finding.rule->title;
    finding.stack = stack;
    finding.summary = profile.call_name(line.entry) + " and " + profile.call_name(line.free_entry) + " of " +
                      bytes_text(static_cast<double>(line.bytes) / pairs) + " on average, " +
                      std::to_string(line.pairs) + " times: " + time_text(line.alloc_ns) +
                      " in the allocations and " + time_text(line.free_ns) + " in the frees";
    finding.evidence = {{"pairs", pairs},
                        {"bytes", static_cast<double>(line.bytes)},
                        {"peak_live", static_cast<double>(line.peak_live)},
                        {"largest_bytes", static_cast<double>(line.largest_bytes)},
                        {"kept_time_ns", line.kept_ns},
                        {"alloc_time_ns", line.alloc_ns},
                        {"free_time_ns", line.free_ns},
                        {"free_wait_ns", waited_ns},
                        {"mean_lifetime_ns", line.lifetime_ns / pairs}};
    if (line.free_stack != 0)
        finding.places.emplace_back("freed here", line.free_stack);
    finding.advice = "allocate the largest size once, before the rounds, and free it after them";
    finding.saving_ns = spared_ns(line);
    finding.basis =
        "time of these calls, without what the frees waited for the device, less that of one round of "
        "the largest size, which stays";
    finding.confidence = waited_ns > line.alloc_ns + line.own_free_ns ? Confidence::medium : Confidence::high;
    return finding;
}

} // namespace

std::vector<Finding> find_managed_churn(const model::Profile& profile, const LineOf& line_of) {
    std::vector<Finding> findings;
    for (const auto& [stack, line] : churn_lines(profile, line_of, {trace::Memory::managed}))
        if (is_churn(line))
            findings.push_back(describe_managed_churn(profile, stack, line));
    return findings;
}

} // namespace umadvisor::findings
