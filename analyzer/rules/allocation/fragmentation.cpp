/// Allocations that failed though the device had room enough for them, in pieces.
#include "analyzer/rules/finding.hpp"
#include "analyzer/rules/untold_work.hpp"
#include "analyzer/rules/words.hpp"

#include <map>

namespace umadvisor::rules {
namespace {

/// The driver's own memory and that of contexts come to less than the rest.
constexpr double most_filled = 0.9;

Finding describe_fragmentation(const Profile& profile, std::uint64_t stack, std::uint64_t entry,
                               const FailureTotals& totals, std::uint64_t device_bytes) {
    const auto bytes = static_cast<double>(totals.bytes);
    Finding finding;
    finding.rule = &uma_408;
    finding.title = finding.rule->title;
    finding.stack = stack;
    finding.summary = profile.call_name(entry) + " of " + bytes_text(bytes) + " failed for want of memory, " +
                      count_text(totals.count, "time") + ", with " +
                      bytes_text(static_cast<double>(totals.live_bytes)) + " allocated of " +
                      bytes_text(static_cast<double>(device_bytes)) + " and " +
                      bytes_text(static_cast<double>(totals.freed_bytes)) + " freed before";
    finding.evidence = {{"failures", static_cast<double>(totals.count)},
                        {"bytes", bytes},
                        {"live_bytes", static_cast<double>(totals.live_bytes)},
                        {"freed_bytes", static_cast<double>(totals.freed_bytes)},
                        {"device_bytes", static_cast<double>(device_bytes)}};
    finding.advice =
        "allocate what is largest and lives longest first, and take what comes and goes from one pool "
        "(cudaMallocAsync) or one arena; or map physical pieces side by side with cuMemMap";
    finding.saving_bytes = totals.bytes;
    finding.basis = "what the device had and could not give in one piece";
    // Other processes may have had it.
    finding.confidence = Confidence::low;
    return finding;
}

} // namespace

std::vector<Finding> find_fragmentation(const Profile& profile, const LineOf& line_of) {
    // Of several devices a failed call does not say which.
    if (memory_use_is_untold(profile) || profile.dictionary().devices.size() != 1)
        return {};
    const std::uint64_t device_bytes = profile.dictionary().devices.front().memory_bytes;
    struct Line {
        std::uint64_t entry = 0;
        FailureTotals totals;
    };
    std::map<std::uint64_t, Line> lines;
    for (const auto& [site, totals] : profile.allocation_failures().sites()) {
        if (static_cast<double>(totals.live_bytes + totals.bytes) >
                most_filled * static_cast<double>(device_bytes) ||
            totals.freed_bytes < totals.bytes || totals.bytes < least_saving_bytes)
            continue;
        Line& line = lines[line_of(site.stack)];
        if (line.totals.bytes < totals.bytes)
            line.entry = site.entry;
        line.totals.add(totals);
    }
    std::vector<Finding> findings;
    for (const auto& [stack, line] : lines)
        findings.push_back(describe_fragmentation(profile, stack, line.entry, line.totals, device_bytes));
    return findings;
}

constinit const Rule uma_408{.id = "UMA-408",
                             .name = "fragmentation",
                             .title = "allocations that fail beside free memory",
                             .find = &find_fragmentation};

} // namespace umadvisor::rules
