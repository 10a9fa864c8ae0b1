/// Memory that host and device want at the same time. Each has it for microseconds, and the driver makes one of
/// them wait.
#include "analyzer/findings/managed.hpp"

#include <algorithm>

namespace umadvisor::findings {
namespace {

constexpr std::uint64_t flag_bytes = 64 * 1024; ///< nobody works through so little

/// Turns inside one kernel make no stays: where nothing else moved it, all that moved did so for this.
model::MovedBytes moved_by_thrashing(const Habit& habit) {
    const ManagedMemory& memory = habit.memory;
    const bool all = memory.basis != model::MovedBasis::none && memory.activity.prefetches.empty() &&
                     habit.totals.allocations == memory.allocations;
    return all ? memory.moved : habit.bytes_both_ways();
}

/// Times that one side took it from the other: as the driver told, or as often as it was seen to arrive. A
/// verdict that stands on moves counts pages, many of which come at once.
std::uint64_t takings(const Habit& habit) {
    const model::ManagedTotals& totals = habit.memory.profile.managed().totals();
    const bool seen = !totals.ever_told(trace::ManagedEventKind::thrashing) &&
                      !totals.ever_told(trace::ManagedEventKind::migration);
    return seen ? habit.totals.times : habit.memory.activity.told.thrashings;
}

Advice advise_thrashing(const Habit& habit) {
    const ManagedMemory& memory = habit.memory;
    const model::ManagedTally& told = memory.activity.told;
    const model::MovedBytes moved = moved_by_thrashing(habit);
    const double faults_ns = std::max(habit.by_faults(moved, 0), static_cast<double>(takings(habit)) *
                                                                     memory.profile.rates().host_fault_ns);
    const auto throttled_ns = static_cast<double>(memory.profile.nanoseconds(told.throttled_ticks));
    const double remote_ns = (static_cast<double>(moved.to_device) + static_cast<double>(moved.to_host)) /
                             memory.profile.rates().remote_access * 1e9;
    const std::string stay = advise_host(memory, "SetPreferredLocation") + " and " +
                             advise_device(memory, "SetAccessedBy") + " right after the allocation";

    Advice advice;
    if (memory.bytes <= flag_bytes * memory.allocations)
        advice.text = "let it stay on the host and be reached from the device: " + stay;
    else
        advice.text =
            "let one side finish before the other begins: " + prefetch_to_device(memory) +
            " before the launch, " + prefetch_to_host(memory) +
            " before the host's loop. What both poll meanwhile, a flag, moves to an allocation of its "
            "own (a __managed__ variable: alignas(2 << 20)) that stays on the host: " +
            stay;
    advice.saving_ns = std::max(0.0, faults_ns + throttled_ns - remote_ns);
    advice.basis = "what moved, or how often one took it from the other, by faults, and the time for which the "
                   "driver made "
                   "processors wait, " +
                   habit.prices() + "; less the same bytes once across the link";
    advice.confidence = std::min(habit.confidence(), Confidence::medium);
    advice.evidence = {{"bytes_to_device", static_cast<double>(moved.to_device)},
                       {"bytes_to_host", static_cast<double>(moved.to_host)},
                       {"thrashings", static_cast<double>(told.thrashings)},
                       {"throttled_ns", throttled_ns}};
    return advice;
}

} // namespace

const ManagedRule thrashing{&rule("UMA-201"), verdicts::VerdictKind::thrashing, Lead::launch,
                            "the host touches it here", &advise_thrashing};

} // namespace umadvisor::findings
