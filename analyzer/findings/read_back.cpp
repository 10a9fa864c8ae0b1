/// What kernels have made comes to the host by the host's faults: 64 KiB at a time, each a round trip through
/// the driver.
#include "analyzer/findings/managed.hpp"

#include <algorithm>

namespace umadvisor::findings {
namespace {

Advice advise_read_back(const Habit& habit) {
    const model::MovedBytes moved{0, habit.bytes_to_host()};
    return {.text = prefetch_to_host(habit.memory) +
                    " after the last launch that writes it, on the same stream, before the synchronisation",
            .saving_ns =
                std::max(0.0, by_faults(moved, habit.totals.times) - by_prefetch(moved, habit.totals.times)),
            .basis =
                "the bytes that came back, by faults (256 MiB in 29 ms) against by prefetch (11 ms), at the "
                "prices of an H200",
            .confidence = habit.confidence(),
            .details = {},
            .evidence = {{"bytes_to_host", static_cast<double>(moved.to_host)}}};
}

} // namespace

const ManagedRule read_back{&rule("UMA-205"), verdicts::VerdictKind::read_back, Lead::launch,
                            "the host reads it here", &advise_read_back};

} // namespace umadvisor::findings
