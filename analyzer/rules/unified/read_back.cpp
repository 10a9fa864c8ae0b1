/// What kernels have made comes to the host by the host's faults: 64 KiB at a time, each a round trip through
/// the driver.
#include "analyzer/rules/unified/managed.hpp"
#include "analyzer/rules/words.hpp"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

namespace umadvisor::rules {
namespace {

constexpr const char* fresh_text =
    "; pages that are new to the host cost the same either way and are not counted";

Advice advise_read_back(const Habit& habit) {
    const std::uint64_t fresh = habit.totals.new_bytes;
    const managed::MovedBytes moved{0, habit.bytes_to_host() - std::min(habit.bytes_to_host(), fresh)};
    const std::uint64_t written = std::min(habit.totals.written, moved.to_host);
    std::vector<std::string> details;
    if (habit.totals.same_part != 0)
        details.push_back(fmt::format("the host takes back the same {} of {} each time, which a prefetch had "
                                      "brought to the device with the "
                                      "rest: if no kernel uses this part, leave it out of that prefetch, and "
                                      "it stays on the host; otherwise "
                                      "prefetch this part alone to the host",
                                      bytes_text(static_cast<double>(habit.totals.same_part)),
                                      bytes_text(static_cast<double>(habit.memory.bytes))));
    return {
        .text =
            prefetch_to_host(habit.memory) +
            " after the last launch that writes it (after the loop of launches, if there is one), on the same "
            "stream, before the synchronisation; measure it: a host that reads all of it once, in order, may "
            "gain nothing",
        .spared = {.host_ns = std::max(0.0, habit.by_faults(moved, habit.totals.times, written) -
                                                habit.by_prefetch(moved, habit.totals.times, written))},
        .basis = fmt::format("the bytes that migrated back, by page faults instead of by prefetch, {}{}",
                             habit.prices(), fresh != 0 ? fresh_text : ""),
        .confidence = habit.confidence(),
        .details = std::move(details),
        .evidence = {{"bytes_to_host", static_cast<double>(moved.to_host)}},
        .at_lead = {{EditKind::insert_after, prefetch_to_host(habit.memory)}}};
}

} // namespace

const ManagedRule read_back{&uma_205, managed::VerdictKind::read_back, Lead::launch, "the host reads it here",
                            &advise_read_back};

constinit const Rule uma_205{.id = "UMA-205",
                             .name = "read-back",
                             .title = "results read back by page faults",
                             .find = &find_managed,
                             .fits = Fits::separate_memory,
                             .price = Price::rates,
                             .act = "prefetch",
                             .by_page_faults = true};

} // namespace umadvisor::rules
