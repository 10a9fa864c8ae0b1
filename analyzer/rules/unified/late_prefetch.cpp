/// A prefetch that comes when kernels already migrate the memory by page faults, since it was called after the
/// launch or on a stream for which the launch does not wait.
#include "analyzer/rules/unified/managed.hpp"
#include "analyzer/rules/words.hpp"

#include <algorithm>

namespace umadvisor::rules {
namespace {

constexpr std::uint64_t brought_by_fault = 64 * 1024; ///< at the least

/// Of what came to the device in such stays, the part that came by faults; of the allocation that moved most.
double faulted_share(const managed::AllocationLife& life) {
    double faulted = 0, all = 0;
    for (const managed::Stay& stay : life.stays) {
        if (!stay.on_device || stay.arrived() == 0 || (stay.late_bytes == 0 && stay.device_faults == 0))
            continue;
        // Memory that began to arrive by faults goes on so: the prefetch waits for the launch. Else, where all
        // of it counts as prefetched, the number of faults shows how much was not.
        const auto by_count = static_cast<double>(stay.device_faults) * brought_by_fault;
        const auto arrived = static_cast<double>(stay.arrived());
        faulted += std::min(
            arrived, stay.late_bytes != 0 ? arrived : std::max(static_cast<double>(stay.by_fault), by_count));
        all += arrived;
    }
    return all > 0 ? faulted / all : 1;
}

/// Other memory of the same line that the program also prefetched behind a launch is assumed to have come as
/// late where that was not observed, unless some of it is known to have been on time.
managed::LateCandidates alike_by_calls(const Habit& habit) {
    const managed::LateCandidates& candidates = habit.memory.activity.late;
    return candidates.on_time == 0 ? candidates : managed::LateCandidates{};
}

Advice advise_late_prefetch(const Habit& habit) {
    const managed::LateCandidates alike = alike_by_calls(habit);
    const std::uint64_t bytes = reader::saturated_sum(habit.bytes_to_device(), alike.unseen_bytes);
    const std::uint64_t times = reader::saturated_sum(habit.totals.times, alike.unseen);
    const double share = faulted_share(habit.memory.activity.life);
    const managed::MovedBytes moved{reader::saturated(static_cast<double>(bytes) * share), 0};
    std::vector<std::string> details;
    if (alike.unseen != 0)
        details.push_back(count_text(alike.unseen, "prefetch") +
                          " more came after a launch in the same way; how far they had come was not measured, "
                          "and they are assumed to be alike");
    return {
        .text = fmt::format("call {} before the launch on the launch's stream; on another stream, make the "
                            "launch's stream wait for it ({})",
                            prefetch_name(habit.memory),
                            habit.memory.profile.uses_runtime() ? "cudaStreamWaitEvent" : "cuStreamWaitEvent"),
        .spared = {.device_ns = std::max(0.0, habit.by_faults(moved, times) - habit.by_prefetch(moved, times))},
        .basis = "the part that still migrated by page faults, instead of by prefetch, " + habit.prices(),
        .confidence = alike.unseen != 0 ? Confidence::low : std::min(habit.confidence(), Confidence::medium),
        .details = std::move(details),
        .evidence = {{"bytes_by_faults", static_cast<double>(moved.to_device)},
                     {"times_unseen", static_cast<double>(alike.unseen)}}};
}

} // namespace

const ManagedRule late_prefetch{&uma_211, managed::VerdictKind::late_prefetch, Lead::prefetch,
                                "the host uses it here", &advise_late_prefetch};

constinit const Rule uma_211{.id = "UMA-211",
                             .name = "late-prefetch",
                             .title = "prefetch too late: kernels page-fault first",
                             .find = &find_managed,
                             .fits = Fits::separate_memory,
                             .price = Price::rates,
                             .act = "prefetch"};

} // namespace umadvisor::rules
