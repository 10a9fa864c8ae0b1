/// Managed memory that the host filled and a kernel then pulled over page fault by page fault. The driver's
/// prefetching never crosses a 2 MiB block, so each block costs at least one batch of faults; one prefetch call
/// moves all of it.
#include "analyzer/findings/finding.hpp"
#include "analyzer/findings/managed_habits.hpp"
#include "analyzer/findings/rates.hpp"
#include "analyzer/findings/words.hpp"

#include <algorithm>

namespace umadvisor::findings {
namespace {

struct Saving {
    double ns = 0;
    std::uint64_t measured_bytes = 0; ///< whose launches were timed
};

/// First launch against the later ones of the same kernel and shape. Where one launch touched several
/// allocations first, each gets its share by bytes: `launch_bytes` has the sum.
Saving measured_saving(const model::Profile& profile, const model::ManagedHabit& habit,
                       const std::map<std::uint64_t, std::uint64_t>& launch_bytes) {
    Saving saving;
    for (const model::TouchSample& touch : habit.samples) {
        const double first = static_cast<double>(profile.allocations().touch_ns(touch.sample));
        const model::LaunchTotals* group = profile.launches().find(touch.group);
        if (first == 0 || group == nullptr || group->measured < 2)
            continue;
        const double share = static_cast<double>(touch.bytes) /
                             static_cast<double>(std::max<std::uint64_t>(1, launch_bytes.at(touch.sample)));
        const double prefetch =
            static_cast<double>(touch.bytes) / prefetch_to_device_rate * 1e9 + prefetch_call_ns;
        saving.ns += std::max(0.0, (first - group->usual_ns()) * share - prefetch);
        saving.measured_bytes += touch.bytes;
    }
    return saving;
}

double priced_saving(const model::ManagedHabit& habit, std::uint64_t bytes) {
    const auto moved = static_cast<double>(bytes);
    return std::max(0.0, moved * (1 / fault_to_device_rate - 1 / prefetch_to_device_rate) * 1e9 +
                             static_cast<double>(habit.to_device) * (fault_ns - prefetch_call_ns));
}

Finding describe(const model::Profile& profile, const model::AllocationSite& site,
                 const model::ManagedHabit& habit, const std::map<std::uint64_t, std::uint64_t>& launch_bytes) {
    const Saving measured = measured_saving(profile, habit, launch_bytes);
    const std::uint64_t rest = habit.bytes_to_device - std::min(habit.bytes_to_device, measured.measured_bytes);
    const bool all_measured = measured.measured_bytes != 0 && rest <= habit.bytes_to_device / 16;
    const bool runtime = profile.uses_runtime();

    Finding finding;
    finding.rule = &rule("UMA-203");
    finding.title = "device first touch by page faults";
    finding.stack = habit.launch_stack;
    finding.summary = kernels_text(profile, habit.functions) + " pulled " +
                      bytes_text(static_cast<double>(habit.bytes_to_device)) +
                      " of host-filled managed memory over by page faults; nothing had prefetched it";
    finding.evidence = {{"allocations", static_cast<double>(habit.allocations)},
                        {"allocation_bytes", static_cast<double>(habit.bytes)},
                        {"bytes_to_device", static_cast<double>(habit.bytes_to_device)},
                        {"measured_bytes", static_cast<double>(measured.measured_bytes)}};
    finding.allocation_stack = allocation_stack(site);
    finding.allocation_text = allocation_text(profile, site, habit);
    finding.advice =
        std::string(runtime ? "cudaMemPrefetchAsync" : "cuMemPrefetchAsync") +
        " to the device, on the launch's stream, after the host has filled it and before the first launch";
    if (all_measured) {
        finding.saving_ns = measured.ns;
        finding.basis = "device time of the first launch less that of later launches of the same kernel, less "
                        "a prefetch at 51 GB/s";
        finding.confidence = Confidence::high;
    } else {
        finding.saving_ns = measured.ns + priced_saving(habit, rest);
        finding.basis = "the bytes seen to move, by faults (256 MiB in 23 ms) against by prefetch (5.3 ms), at "
                        "the prices of an H200";
        finding.confidence = Confidence::medium;
    }
    return finding;
}

} // namespace

std::vector<Finding> find_first_touches(const model::Profile& profile, const LineOf& line_of) {
    std::map<std::uint64_t, std::uint64_t> launch_bytes;
    for (const auto& [site, totals] : profile.allocations().sites())
        for (const model::TouchSample& touch : totals.first_touch.samples)
            launch_bytes[touch.sample] += touch.bytes;
    std::vector<Finding> findings;
    for (const auto& [site, habit] : habits_by_line(profile, line_of, &model::AllocationTotals::first_touch)) {
        Finding finding = describe(profile, site, habit, launch_bytes);
        if (finding.saving_ns >= least_saving_ns)
            findings.push_back(std::move(finding));
    }
    return findings;
}

} // namespace umadvisor::findings
