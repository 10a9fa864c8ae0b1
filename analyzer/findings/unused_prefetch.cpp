/// Brought to the device and taken away again before any launch could use it.
#include "analyzer/findings/managed.hpp"

namespace umadvisor::findings {
namespace {

Advice advise_unused_prefetch(const Habit& habit) {
    const model::MovedBytes moved{habit.bytes_to_device(), 0};
    return {.text = "remove this " + prefetch_name(habit.memory) +
                    ", or narrow it to the part that a launch uses before the host does",
            .saving_ns = by_prefetch(moved, habit.totals.times),
            .basis = "the bytes that it moved, at the 51 GB/s of an H200; their way back is not counted",
            .confidence = habit.confidence(),
            .details = {},
            .evidence = {{"bytes_to_device", static_cast<double>(moved.to_device)}}};
}

} // namespace

const ManagedRule unused_prefetch{&rule("UMA-213"), verdicts::VerdictKind::unused_prefetch, Lead::prefetch,
                                  "the host uses it here", &advise_unused_prefetch};

} // namespace umadvisor::findings
