/// Memory that the host filled with what a kernel could have made there. What is made where it is used does not
/// move at all.
#include "analyzer/rules/unified/managed.hpp"

#include <algorithm>

namespace umadvisor::rules {
namespace {

Advice advise_host_populate(const Habit& habit) {
    const ManagedMemory& memory = habit.memory;
    const std::uint64_t bytes = habit.bytes_to_device();
    const managed::VerdictTotals* const touched = memory.find(managed::VerdictKind::first_touch);
    Advice advice;
    advice.text = fmt::format(
        "fill it in a kernel, on the stream of the first launch, instead of on the host, after {}: memory that "
        "the host never touched does not migrate, and prefetched memory is populated without page faults",
        prefetch_to_device(memory));
    advice.spared.device_ns = habit.by_prefetch({bytes, 0}, habit.totals.allocations) -
                              static_cast<double>(bytes) / memory.profile.rates().device_memory * 1e9;
    advice.basis = fmt::format("moving these bytes to the device by prefetch, {}, minus writing them there; "
                               "the host's own time for filling is not counted",
                               habit.prices());
    if (touched != nullptr) {
        advice.spared.device_ns += first_touch_saving({memory, *touched}).ns;
        advice.basis = "the migration to the device by page faults minus writing the same there; the host's "
                       "own time for filling is not counted";
    }
    advice.spared.device_ns = std::max(0.0, advice.spared.device_ns);
    // That a kernel could make it is a conclusion, not a count.
    advice.confidence = std::min(habit.confidence(), Confidence::medium);
    advice.evidence = {{"bytes_to_device", static_cast<double>(bytes)}};
    return advice;
}

} // namespace

const ManagedRule host_populate{&uma_204, managed::VerdictKind::host_populate, Lead::host,
                                "the host fills it here", &advise_host_populate};

constinit const Rule uma_204{.id = "UMA-204",
                             .name = "host-populate",
                             .title = "managed memory initialised on the host but used only by kernels",
                             .find = &find_managed,
                             .fits = Fits::separate_memory,
                             .price = Price::rates,
                             .act = "prefetch"};

} // namespace umadvisor::rules
