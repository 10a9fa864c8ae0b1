/// Memory that host and device want at the same time. Each has it for microseconds, and the driver makes one of
/// them wait.
#include "analyzer/rules/unified/managed.hpp"

#include <algorithm>

namespace umadvisor::rules {
namespace {

constexpr std::uint64_t flag_bytes = 64 * 1024; ///< so little holds flags, not data

/// Turns inside one kernel make no stays: where nothing else moved it, all that moved did so for this.
managed::MovedBytes moved_by_thrashing(const Habit& habit) {
    const ManagedMemory& memory = habit.memory;
    const bool all = memory.basis != managed::MovedBasis::none && memory.activity.prefetches.empty() &&
                     habit.totals.allocations == memory.allocations;
    return all ? memory.moved : habit.bytes_both_ways();
}

/// How often the host was held up: its faults, where the driver reported them. A thrashing event is for one
/// page, and a fault moves many. Otherwise the times that the memory was seen to arrive: a verdict that is
/// based on moves counts pages, many of which arrive at once.
std::uint64_t host_held_up(const Habit& habit) {
    const managed::ManagedTotals& totals = habit.memory.profile.managed().totals();
    if (totals.ever_recorded(trace::ManagedEventKind::host_fault))
        return managed::sum_of(habit.memory.activity.recorded.host_faults);
    const bool seen = !totals.ever_recorded(trace::ManagedEventKind::thrashing) &&
                      !totals.ever_recorded(trace::ManagedEventKind::migration);
    return seen ? habit.totals.times : habit.memory.activity.recorded.thrashings;
}

std::string pinned_of_its_own(bool runtime) {
    return fmt::format("page-locked memory of its own ({})",
                       runtime ? "cudaHostAlloc with cudaHostAllocMapped"
                               : "cuMemHostAlloc with CU_MEMHOSTALLOC_DEVICEMAP");
}

Advice advise_thrashing(const Habit& habit) {
    const ManagedMemory& memory = habit.memory;
    const managed::ManagedTally& told = memory.activity.recorded;
    const managed::MovedBytes moved = moved_by_thrashing(habit);
    const auto throttled_ns = static_cast<double>(memory.profile.nanoseconds(told.throttled_ticks));
    // What stays on one side does not move; what both poll crosses the link.
    const bool polled = memory.bytes <= flag_bytes * memory.allocations;
    const bool faults_known =
        memory.profile.managed().totals().ever_recorded(trace::ManagedEventKind::host_fault);
    double faults_ns =
        std::max(habit.by_faults(moved, polled && faults_known ? static_cast<double>(habit.totals.pulls) : 0),
                 static_cast<double>(host_held_up(habit)) * memory.profile.rates().host_fault_ns);
    // A kernel takes next to no time for what the host does with the data between its faults. What else kernels
    // share with the host may take that time as well.
    const double with_step_ns = habit.by_faults({moved.to_device, 0}, 0) +
                                static_cast<double>(memory.profile.nanoseconds(habit.totals.host_ticks));
    const bool whole_step = !polled && habit.share_of_faults == 1 && with_step_ns > faults_ns;
    if (whole_step)
        faults_ns = with_step_ns;
    const double remote_ns = polled
                                 ? (static_cast<double>(moved.to_device) + static_cast<double>(moved.to_host)) /
                                       memory.profile.rates().remote_access * 1e9
                                 : 0;
    const bool runtime = memory.profile.uses_runtime();

    Advice advice;
    if (polled)
        advice.text = keep_counters_on_device(memory);
    else
        advice.text =
            fmt::format("keep the data on one side: do the host's step in a kernel. If both must touch it, and "
                        "the kernel does not wait for the host, let one side finish before the other begins: "
                        "{} and {} before the host's loop, {} before "
                        "the launch; put a flag that both poll into {}",
                        runtime ? "cudaStreamSynchronize(stream)" : "cuStreamSynchronize(stream)",
                        prefetch_to_host(memory), prefetch_to_device(memory), pinned_of_its_own(runtime));
    const double spared_ns = std::max(0.0, faults_ns + throttled_ns - remote_ns);
    advice.spared = {.device_ns = spared_ns, .host_ns = spared_ns, .at_once = true};
    advice.basis =
        fmt::format("the migrated bytes or the host's page faults, plus the time for which the driver "
                    "throttled processors, {}{}",
                    habit.prices(),
                    polled       ? "; minus the same bytes once across the link"
                    : whole_step ? "; includes the host's work between the first and last page fault "
                                   "of its turns, which a kernel in its place saves as well"
                                 : "");
    advice.confidence = std::min(habit.confidence(), whole_step ? Confidence::low : Confidence::medium);
    advice.evidence = {{"bytes_to_device", static_cast<double>(moved.to_device)},
                       {"bytes_to_host", static_cast<double>(moved.to_host)},
                       {"thrashings", static_cast<double>(told.thrashings)},
                       {"throttled_ns", throttled_ns}};
    return advice;
}

} // namespace

std::string keep_counters_on_device(const ManagedMemory& memory) {
    const bool runtime = memory.profile.uses_runtime();
    return fmt::format(
        "keep counters and results of kernels in device memory (a __device__ variable, or {}) and copy the "
        "value to the host after the wait; put data that one side writes and the other reads while a kernel "
        "runs into {}; words that both change by atomics must stay in managed memory",
        runtime ? "cudaMalloc" : "cuMemAlloc", pinned_of_its_own(runtime));
}

const ManagedRule thrashing{&uma_201, managed::VerdictKind::thrashing, Lead::launch, "the host touches it here",
                            &advise_thrashing};

constinit const Rule uma_201{.id = "UMA-201",
                             .name = "thrashing",
                             .title = "host and device thrash managed memory",
                             .find = &find_managed,
                             .fits = Fits::separate_memory,
                             .price = Price::rates,
                             .act = "prefetch",
                             .by_page_faults = true};

} // namespace umadvisor::rules
