/// Managed memory that the host filled and a kernel then pulled over page fault by page fault. The driver's
/// prefetching never crosses a 2 MiB block, so each block costs at least one batch of faults; one prefetch call
/// moves all of it.
#include "analyzer/rules/unified/managed.hpp"

#include <algorithm>
#include <optional>

namespace umadvisor::rules {
namespace {

/// Batches of faults. Each launch has at least one, whatever memory they are for. Untimed launches that brought
/// a part each are assumed to be like timed ones.
double batches(const Habit& habit, std::uint64_t bytes) {
    const auto allocations = static_cast<double>(habit.totals.allocations);
    double timed = 0, timed_bytes = 0, count = allocations;
    for (const tables::FirstLaunch& launch : habit.memory.first_launches) {
        if (launch.bytes == 0)
            continue;
        timed += share_of(habit.memory.profile, launch);
        timed_bytes += static_cast<double>(launch.bytes);
        count -= 1;
    }
    const double alike = timed_bytes == 0 ? 0 : timed * static_cast<double>(bytes) / timed_bytes;
    return std::max(timed + std::max(0.0, count), std::min(alike, static_cast<double>(habit.totals.times)));
}

/// No sample preceded the next launch, and this one took too little extra time to have brought half of it.
bool left_much(const Habit& habit, const tables::FirstLaunch& launch, double longer_ns) {
    return longer_ns < habit.by_faults({launch.bytes, 0}, 0) / 2;
}

/// First launch against the later ones of the same kernel and shape. Memory without pages costs faults in it,
/// too.
FirstTouchSaving measured_saving(const Habit& habit) {
    const ManagedMemory& memory = habit.memory;
    FirstTouchSaving saving;
    for (const tables::FirstLaunch& launch : memory.first_launches) {
        const auto first = static_cast<double>(memory.profile.allocations().first_launch(launch.sample).ns);
        if (first == 0 || launch.bytes == 0)
            continue;
        const double share = share_of(memory.profile, launch);
        const std::optional<double> later = memory.firsts.later_ns(memory.profile, launch.group);
        if (!later) {
            if (launch.seen) {
                saving.whole_ns += first * share;
                reader::add_saturated(saving.whole_bytes, launch.bytes);
            }
            continue;
        }
        const double longer_ns = (first - *later) * share;
        if (!launch.seen && left_much(habit, launch, longer_ns))
            continue;
        saving.ns += std::max(0.0, longer_ns - habit.by_prefetch({launch.bytes, 0}, 1));
        reader::add_saturated(saving.measured_bytes, launch.bytes);
    }
    return saving;
}

Advice advise_first_touch(const Habit& habit) {
    const ManagedMemory& memory = habit.memory;
    const FirstTouchSaving saving = first_touch_saving(habit);
    Advice advice;
    advice.text = prefetch_to_device(memory) +
                  " on the launch's stream, after the host has filled it and before the first launch";
    advice.at_lead = {{EditKind::insert_before, prefetch_to_device(memory)}};
    advice.spared.device_ns = saving.ns;
    advice.confidence = saving.all_measured ? Confidence::high : habit.confidence();
    advice.basis = saving.all_measured
                       ? "device time of the first launch minus that of later launches of the same kernel, "
                         "minus a prefetch, " +
                             habit.prices()
                       : "the migrated bytes, by page faults instead of by prefetch, " + habit.prices();
    advice.evidence = {{"bytes_to_device", static_cast<double>(habit.bytes_to_device())},
                       {"measured_bytes", static_cast<double>(saving.measured_bytes)}};
    return advice;
}

} // namespace

FirstTouchSaving first_touch_saving(const Habit& habit) {
    FirstTouchSaving saving = measured_saving(habit);
    const std::uint64_t bytes = habit.bytes_to_device();
    const std::uint64_t rest = bytes - std::min(bytes, saving.measured_bytes);
    saving.all_measured = saving.measured_bytes != 0 && rest <= bytes / 16;
    if (saving.all_measured)
        return saving;
    double faults_ns = habit.by_faults({rest, 0}, batches(habit, rest));
    if (saving.whole_bytes != 0) // no faults take longer than the launches that had them
        faults_ns = std::min(faults_ns, saving.whole_ns * static_cast<double>(rest) /
                                            static_cast<double>(saving.whole_bytes));
    saving.ns += std::max(0.0, faults_ns - habit.by_prefetch({rest, 0}, habit.totals.allocations));
    return saving;
}

const ManagedRule first_touch{&uma_203, managed::VerdictKind::first_touch, Lead::launch,
                              "the host fills it here", &advise_first_touch};

constinit const Rule uma_203{.id = "UMA-203",
                             .name = "first-touch",
                             .title = "device first touch by page faults",
                             .find = &find_managed,
                             .fits = Fits::separate_memory,
                             .price = Price::rates,
                             .act = "prefetch"};

} // namespace umadvisor::rules
