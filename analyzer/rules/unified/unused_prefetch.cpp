/// Memory is prefetched to the device and moves away again before any launch could use it.
#include "analyzer/rules/unified/managed.hpp"

#include <algorithm>

namespace umadvisor::rules {
namespace {

Advice advise_unused_prefetch(const Habit& habit) {
    const managed::MovedBytes moved{habit.bytes_to_device(), 0};
    const managed::MovedBytes by_faults{0, std::min(habit.totals.taken_back, moved.to_device)};
    const managed::MovedBytes by_prefetch{
        0, std::min(habit.totals.prefetched_back, moved.to_device - by_faults.to_host)};
    const std::uint64_t written = std::min(habit.totals.written, by_faults.to_host);
    return {.text = "remove this " + prefetch_name(habit.memory) +
                    ", or limit it to the part that a launch uses before the host does",
            .spared = {.host_ns = habit.by_faults(by_faults, habit.totals.times, written),
                       .prefetch_ns = habit.by_prefetch(moved, habit.totals.times) +
                                      habit.by_prefetch(by_prefetch, habit.totals.times),
                       .prefetches = habit.totals.times},
            .basis = fmt::format("the bytes that it moved, and their move back by {}{}",
                                 by_faults.to_host != 0 ? "the host's faults, " : "prefetch, ", habit.prices()),
            .confidence = habit.confidence(),
            .details = {},
            .evidence = {{"bytes_to_device", static_cast<double>(moved.to_device)},
                         {"bytes_taken_back", static_cast<double>(by_faults.to_host)}}};
}

} // namespace

const ManagedRule unused_prefetch{&uma_213, managed::VerdictKind::unused_prefetch, Lead::prefetch,
                                  "the host uses it here", &advise_unused_prefetch};

constinit const Rule uma_213{.id = "UMA-213",
                             .name = "unused-prefetch",
                             .title = "prefetched to the device and never used there",
                             .find = &find_managed,
                             .fits = Fits::separate_memory,
                             .price = Price::rates};

} // namespace umadvisor::rules
