/// One prefetch moves memory, the next moves it back, and nothing used it in between.
#include "analyzer/rules/unified/managed.hpp"

namespace umadvisor::rules {
namespace {

Advice advise_prefetch_ping_pong(const Habit& habit) {
    const managed::MovedBytes moved = habit.bytes_both_ways();
    return {.text = fmt::format("remove both {} calls of the pair: the one that moves it where nothing uses "
                                "it, and the one that moves it back",
                                prefetch_name(habit.memory)),
            .spared = {.prefetch_ns = habit.by_prefetch(moved, habit.totals.times),
                       .prefetches = 2 * habit.totals.times},
            .basis = "the bytes that both prefetches moved, " + habit.prices(),
            .confidence = habit.confidence(),
            .details = {},
            .evidence = {{"bytes_to_device", static_cast<double>(moved.to_device)},
                         {"bytes_to_host", static_cast<double>(moved.to_host)}}};
}

} // namespace

const ManagedRule prefetch_ping_pong{&uma_210, managed::VerdictKind::prefetch_ping_pong, Lead::prefetch,
                                     "the host uses it here", &advise_prefetch_ping_pong};

constinit const Rule uma_210{.id = "UMA-210",
                             .name = "prefetch-ping-pong",
                             .title = "prefetched back and forth without use",
                             .find = &find_managed,
                             .fits = Fits::separate_memory,
                             .price = Price::rates};

} // namespace umadvisor::rules
