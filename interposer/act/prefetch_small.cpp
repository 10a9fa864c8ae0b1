/// Small managed memory that host and device share: which way it moves, as policy::SmallTurns says.
#include "interposer/act/prefetch.hpp"

namespace umadvisor::act {

namespace {

constinit std::atomic<int> choices_noted{0};
constexpr int most_choices_noted = 16;

} // namespace

bool leave_small(const observe::Allocation& allocation, std::uint64_t stack, std::uint64_t now) noexcept {
    policy::SmallTurns& turns = knowledge.small_turns;
    if (allocation.bytes > policy::SmallTurns::most_bytes || knowledge.residency.crowded())
        return false;
    if (knowledge.pointees.points(allocation.id)) // it is read while the host has it
        turns.leave(allocation.id, allocation.bytes);
    return turns.launch(allocation.id, allocation.bytes, stack, knowledge.residency.synchronizations(), now) ==
           policy::SmallTurns::Way::faults;
}

void note_choice(const policy::SmallTurns::Choice& choice) noexcept {
    using Way = policy::SmallTurns::Way;
    if (choice.allocation == 0 || choices_noted.fetch_add(1, std::memory_order_relaxed) >= most_choices_noted)
        return;
    const record::About about{.allocation = choice.allocation};
    const unsigned long long prefetched = choice.prefetched / 1000, faulted = choice.faulted / 1000;
    if (choice.way == Way::faults)
        record::note(
            about,
            "--act prefetch: small managed memory that host and device share is left to faults: a round "
            "takes %llu us, and %llu us with prefetches",
            faulted, prefetched);
    else
        record::note(
            about,
            "--act prefetch: small managed memory that host and device share is prefetched %s: a round "
            "takes %llu us, and %llu us with faults",
            choice.way == Way::both ? "in both directions" : "to the device", prefetched, faulted);
}

std::uint64_t bytes_to_compare(const policy::PrefetchPlan& in) noexcept {
    std::uint64_t bytes = in.bytes;
    const record::Guard guard(knowledge.mutex);
    for (std::uint32_t i = 0; i < in.count; ++i)
        if (knowledge.small_turns.compares(in.ranges[i].allocation))
            bytes -= in.ranges[i].bytes;
    return bytes;
}

} // namespace umadvisor::act
