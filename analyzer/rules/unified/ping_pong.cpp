/// Memory that host and device take from each other, round after round. The driver's own thrashing detection
/// sees accesses within half a millisecond only; slow alternation moves every byte twice a round unseen.
#include "analyzer/rules/unified/managed.hpp"
#include "analyzer/rules/words.hpp"

#include <algorithm>

namespace umadvisor::rules {
namespace {

/// The time of one direction, by page faults and by prefetch.
struct Way {
    double faults_ns, prefetch_ns;
    double saved_ns() const { return faults_ns - prefetch_ns; }
};

Way way_of(const Habit& habit, const managed::MovedBytes& moved, std::uint64_t written) {
    return {habit.by_faults(moved, habit.totals.times, written),
            habit.by_prefetch(moved, habit.totals.times, written)};
}

/// A fault by code that reads a page and then writes it is reported as a read. So the host may write more than
/// is recorded, and of both prices the one that promises less counts.
std::uint64_t written_by_host(const Habit& habit, const managed::MovedBytes& back) {
    const std::uint64_t told = std::min(habit.totals.written, back.to_host);
    return way_of(habit, back, told).saved_ns() < way_of(habit, back, back.to_host).saved_ns() ? told
                                                                                               : back.to_host;
}

std::string prefetches(const ManagedMemory& memory, bool back_too) {
    const std::string there = prefetch_to_device(memory) + " before the first launch after the host's use";
    return back_too ? fmt::format("{} and {} before the synchronisation that the host's next use waits for",
                                  there, prefetch_to_host(memory))
                    : there + " (not back to the host: the host's own faults are no slower)";
}

/// To prefetch all of an allocation of which both sides use a part would move the rest for nothing.
std::string only_the_part(const Habit& habit) {
    const std::uint64_t each = habit.memory.bytes / std::max<std::uint64_t>(1, habit.memory.allocations);
    const std::uint64_t at_a_time = habit.totals.bytes / 2 / std::max<std::uint64_t>(1, habit.totals.times);
    const bool known = habit.memory.basis != managed::MovedBasis::none &&
                       habit.memory.allocations == habit.totals.allocations && at_a_time > managed::granule;
    if (!known || at_a_time > each / 2)
        return "";
    return fmt::format(", but only the part that both use: about {} at a time, not all {}",
                       bytes_text(at_a_time), bytes_text(each));
}

Advice advise_ping_pong(const Habit& habit) {
    const ManagedMemory& memory = habit.memory;
    const managed::MovedBytes moved = habit.bytes_both_ways();
    const managed::MovedBytes back{0, moved.to_host};
    const std::uint64_t written = written_by_host(habit, back);
    const Way up = way_of(habit, {moved.to_device, 0}, 0), down = way_of(habit, back, written);
    const double priced_ns = up.faults_ns + down.faults_ns;
    const double faults_ns = within_recorded(memory.profile, priced_ns);
    const bool back_too = down.saved_ns() > 0;
    const std::string part = only_the_part(habit);
    std::vector<CodeEdit> edits;
    if (part.empty()) {
        edits.push_back({EditKind::insert_before, prefetch_to_device(memory)});
        if (back_too)
            edits.push_back({EditKind::insert_after, prefetch_to_host(memory)});
    }
    return {.text = fmt::format("keep the data on one side: do the host's step in a kernel, or copy what the "
                                "host reads into a small separate buffer. If both must touch it: {}{}",
                                prefetches(memory, back_too), part),
            .spared = {.device_ns = std::max(0.0, up.saved_ns()), .host_ns = std::max(0.0, down.saved_ns())},
            .basis = "the bytes that migrated back and forth, by page faults instead of by prefetch, " +
                     habit.prices() + (written != 0 ? ", with the host's first writes counted in both" : "") +
                     // A price above the whole run is of another machine than this one.
                     (priced_ns > faults_ns
                          ? ""
                          : "; keeping the data on one side saves all of about " + time_text(faults_ns)),
            .confidence = habit.confidence(),
            .details = {},
            .evidence = {{"bytes_to_device", static_cast<double>(moved.to_device)},
                         {"bytes_to_host", static_cast<double>(moved.to_host)},
                         {"fault_cost_ns", faults_ns},
                         {"prefetch_cost_ns", up.prefetch_ns + std::min(down.prefetch_ns, down.faults_ns)}},
            .at_lead = std::move(edits)};
}

} // namespace

const ManagedRule ping_pong{&uma_202, managed::VerdictKind::ping_pong, Lead::launch, "the host touches it here",
                            &advise_ping_pong};

constinit const Rule uma_202{.id = "UMA-202",
                             .name = "ping-pong",
                             .title = "ping-pong of managed memory between host and device",
                             .find = &find_managed,
                             .fits = Fits::separate_memory,
                             .price = Price::rates,
                             .act = "prefetch",
                             .by_page_faults = true};

} // namespace umadvisor::rules
