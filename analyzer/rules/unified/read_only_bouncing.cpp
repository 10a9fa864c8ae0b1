/// Host and device read the same memory in turn, and neither writes it: each could keep a copy.
#include "analyzer/rules/unified/managed.hpp"

namespace umadvisor::rules {
namespace {

Advice advise_read_only_bouncing(const Habit& habit) {
    const managed::MovedBytes moved = habit.bytes_both_ways();
    return {.text = advise_device(habit.memory, "SetReadMostly") +
                    " after it has been filled and before the first launch: both sides then keep a copy each",
            .spared = habit.spared_faults(moved),
            .basis = "the bytes that migrated back and forth by page faults, " + habit.prices() +
                     ": with a copy on each side none of them moves",
            .confidence = habit.confidence(),
            .details = {},
            .evidence = {{"bytes_to_device", static_cast<double>(moved.to_device)},
                         {"bytes_to_host", static_cast<double>(moved.to_host)}}};
}

} // namespace

const ManagedRule read_only_bouncing{&uma_207, managed::VerdictKind::read_only_bouncing, Lead::launch,
                                     "the host reads it here", &advise_read_only_bouncing};

constinit const Rule uma_207{.id = "UMA-207",
                             .name = "read-only-bouncing",
                             .title = "read-only managed memory bounces between host and device",
                             .find = &find_managed,
                             .fits = Fits::separate_memory,
                             .price = Price::rates,
                             .by_page_faults = true};

} // namespace umadvisor::rules
