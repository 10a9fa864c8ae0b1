/// A managed allocation that host and device take from each other, round after round. The driver's own
/// thrashing detection sees accesses within half a millisecond only; slow alternation moves every byte twice a
/// round unseen.
#include "analyzer/findings/finding.hpp"
#include "analyzer/findings/managed_habits.hpp"
#include "analyzer/findings/rates.hpp"
#include "analyzer/findings/words.hpp"

#include <algorithm>

namespace umadvisor::findings {
namespace {

struct Cost {
    double faults_ns, prefetch_ns;
};

/// What the moves cost by faults, and what they would by prefetches.
Cost cost_of(const model::ManagedHabit& habit) {
    const auto moves = static_cast<double>(habit.to_device + habit.to_host);
    const auto up = static_cast<double>(habit.bytes_to_device), down = static_cast<double>(habit.bytes_to_host);
    return {moves * fault_ns + (up / fault_to_device_rate + down / fault_to_host_rate) * 1e9,
            moves * prefetch_call_ns + (up / prefetch_to_device_rate + down / prefetch_to_host_rate) * 1e9};
}

Finding describe(const model::Profile& profile, const model::AllocationSite& site,
                 const model::ManagedHabit& habit) {
    const Cost cost = cost_of(habit);
    const bool runtime = profile.uses_runtime();
    const std::string prefetch = runtime ? "cudaMemPrefetchAsync" : "cuMemPrefetchAsync";
    const std::string kernels = kernels_text(profile, habit.functions);

    Finding finding;
    finding.rule = &rule("UMA-202");
    finding.title = "ping-pong of managed memory between host and device";
    finding.stack = habit.launch_stack;
    finding.summary = kernels + " pulled it to the device " + count_text(habit.to_device, "time") + " (" +
                      bytes_text(static_cast<double>(habit.bytes_to_device)) + "), the host took it back " +
                      count_text(habit.to_host, "time") + " (" +
                      bytes_text(static_cast<double>(habit.bytes_to_host)) + "), all by page faults";
    if (habit.sync_stack != 0)
        finding.places.emplace_back("the host touches it after this synchronisation, before the next launch",
                                    habit.sync_stack);
    else
        finding.details.push_back("the host touches it after the synchronisation, before the next launch");
    if (habit.least_coverage < 1)
        finding.details.push_back("bytes are extrapolated: samples looked at " +
                                  std::to_string(static_cast<int>(habit.least_coverage * 100)) +
                                  "% of its pages");
    finding.evidence = {{"allocations", static_cast<double>(habit.allocations)},
                        {"allocation_bytes", static_cast<double>(habit.bytes)},
                        {"moves_to_device", static_cast<double>(habit.to_device)},
                        {"moves_to_host", static_cast<double>(habit.to_host)},
                        {"bytes_to_device", static_cast<double>(habit.bytes_to_device)},
                        {"bytes_to_host", static_cast<double>(habit.bytes_to_host)},
                        {"fault_cost_ns", cost.faults_ns},
                        {"prefetch_cost_ns", cost.prefetch_ns}};
    finding.allocation_stack = allocation_stack(site);
    finding.allocation_text = allocation_text(profile, site, habit);
    finding.advice = "keep the data on one side: do the host's step in a kernel, or give the host a small "
                     "buffer of its own for "
                     "what it reads. If both must touch it: " +
                     prefetch + " to the device before the launch and to the host after the synchronisation";
    finding.saving_ns = std::max(0.0, cost.faults_ns - cost.prefetch_ns);
    finding.basis = "the bytes seen to move, by faults against by prefetch, at the prices of an H200; keeping "
                    "the data on one "
                    "side saves all of about " +
                    time_text(cost.faults_ns);
    finding.confidence = habit.to_device >= 2 * model::bounce_moves ? Confidence::high : Confidence::medium;
    return finding;
}

} // namespace

std::vector<Finding> find_ping_pongs(const model::Profile& profile, const LineOf& line_of) {
    std::vector<Finding> findings;
    for (const auto& [site, habit] : habits_by_line(profile, line_of, &model::AllocationTotals::bouncing)) {
        Finding finding = describe(profile, site, habit);
        if (finding.saving_ns >= least_saving_ns)
            findings.push_back(std::move(finding));
    }
    return findings;
}

} // namespace umadvisor::findings
