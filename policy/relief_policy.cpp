#include "policy/relief_policy.hpp"

#include "residency/geometry.hpp"

#include <algorithm>

namespace umadvisor::policy {

namespace {

std::uint64_t round_down(std::uint64_t address, std::uint64_t unit) {
    return address & ~(unit - 1);
}

} // namespace

ReliefPolicy::Entry* ReliefPolicy::find(std::uint64_t allocation) noexcept {
    Entry& entry = entries_[allocation % slots];
    return entry.allocation == allocation ? &entry : nullptr;
}

/// The entry to count an event in. The event keeps faults observed if the allocation can still get advice.
ReliefPolicy::Entry* ReliefPolicy::find_for_event(std::uint64_t allocation) noexcept {
    Entry* const entry = find(allocation);
    if (entry != nullptr && entry->stays && entry->state != State::left)
        unconcerned_ = 0;
    return entry;
}

/// The allocation's slot, if it is free or held by an allocation without evidence; else null.
ReliefPolicy::Entry* ReliefPolicy::claim(std::uint64_t allocation) noexcept {
    Entry& entry = entries_[allocation % slots];
    if (entry.allocation == allocation)
        return &entry;
    const bool idle = entry.state == State::gathering && entry.tally.rounds == 0;
    if (entry.closed || (entry.allocation != 0 && !idle))
        return nullptr;
    entry = {};
    entry.allocation = allocation;
    return &entry;
}

void ReliefPolicy::host_fault(std::uint64_t allocation, std::uint64_t first, std::uint64_t last,
                              std::uint64_t faults, bool write) noexcept {
    Entry* const entry = find_for_event(allocation);
    if (entry == nullptr)
        return;
    entry->round.faults += faults;
    entry->round.written |= write;
    if (entry->state != State::gathering)
        return;
    entry->first = entry->last == 0 ? first : std::min(entry->first, first);
    entry->last = std::max(entry->last, last);
}

void ReliefPolicy::written(std::uint64_t allocation) noexcept {
    if (Entry* const entry = find(allocation))
        entry->round.written = true;
}

void ReliefPolicy::thrashed(std::uint64_t allocation) noexcept {
    if (Entry* const entry = find_for_event(allocation))
        entry->round.thrashed = true;
}

void ReliefPolicy::copies_ended(std::uint64_t allocation) noexcept {
    if (Entry* const entry = find_for_event(allocation))
        entry->round.ended = true;
}

void ReliefPolicy::came_back(std::uint64_t allocation, std::uint64_t content) noexcept {
    Entry* const entry = find_for_event(allocation);
    if (entry == nullptr)
        return;
    entry->round.came_back = true;
    entry->round.content = content;
}

bool ReliefPolicy::needs_content(std::uint64_t allocation) const noexcept {
    const Entry& entry = entries_[allocation % slots];
    const bool moves = entry.round.faults != 0 || entry.tally.moved != 0;
    return entry.allocation == allocation && entry.state == State::gathering &&
           (moves || has_no_concern()); // without a concern faults are not observed
}

void ReliefPolicy::leave_alone(std::uint64_t allocation) noexcept {
    if (Entry* const entry = claim(allocation))
        entry->state = State::left;
    else
        entries_[allocation % slots].closed = true;
}

void ReliefPolicy::forget(std::uint64_t allocation) noexcept {
    if (Entry* const entry = find(allocation)) {
        const bool closed = entry->closed;
        *entry = {};
        entry->closed = closed;
    }
}

void ReliefPolicy::close_round(Entry& entry, std::uint64_t now) noexcept {
    const Round& round = entry.round;
    Tally& tally = entry.tally;
    const bool moved = round.faults != 0 || round.came_back;
    entry.quiet = moved ? 0 : entry.quiet + 1;
    if (moved || entry.state == State::watched) {
        ++tally.rounds;
        tally.moved += moved;
        tally.written += round.written;
        tally.thrashed += round.thrashed;
        tally.ended += round.ended;
        tally.faults += round.faults;
        if (entry.began != 0)
            tally.shortest =
                tally.shortest == 0 ? now - entry.began : std::min(tally.shortest, now - entry.began);
    }
    if (round.content != 0) {
        if (entry.content != 0) {
            ++tally.compared;
            tally.changed += entry.content != round.content;
        }
        entry.content = round.content;
    }
    entry.round = {};
    entry.began = now;
}

/// The advice for [entry.first, entry.last), rounded to the units that the driver moves and clipped to the
/// allocation.
ReliefStep ReliefPolicy::choose(Entry& entry, std::uint64_t address, std::uint64_t bytes) const noexcept {
    const Tally& tally = entry.tally;
    const auto give = [&](Remedy remedy, std::uint64_t unit) {
        const std::uint64_t first = std::max(address, round_down(entry.first, unit));
        const std::uint64_t last = std::min(address + bytes, round_down(entry.last + unit - 1, unit));
        entry.state = State::watched;
        entry.remedy = remedy;
        entry.before = tally;
        entry.tally = {};
        entry.first = first;
        entry.last = last;
        return ReliefStep{ReliefStep::Kind::give, remedy, first, last - first, ""};
    };
    if (tally.moved < least_rounds || entry.last == 0)
        return {};
    if (tally.written == 0 && tally.changed == 0 && tally.compared >= 2)
        return give(Remedy::read_mostly, residency::block_bytes);
    const std::uint64_t hot = entry.last - round_down(entry.first, residency::granule_bytes);
    const unsigned contested = prefetched_ ? window : 2; // prefetching learns in the first rounds
    const bool left_to_prefetches = prefetched_ && bytes <= small_bytes; // SmallTurns tries what is best
    if (!left_to_prefetches &&
        ((hot <= small_bytes && !prefetched_) || (tally.thrashed >= contested && hot <= contested_bytes)))
        return give(Remedy::accessed_by, residency::granule_bytes);
    if (prefetched_ && !left_to_prefetches && tally.thrashed != 0 && tally.moved < most_rounds)
        return {};
    const bool written = tally.written + tally.changed != 0;
    if (!written && tally.moved < most_rounds)
        return {};
    entry.state = State::left;
    return {written ? ReliefStep::Kind::leave : ReliefStep::Kind::none, Remedy::none, entry.first,
            entry.last - entry.first, ""};
}

ReliefStep ReliefPolicy::judge(Entry& entry) noexcept {
    const Tally& now = entry.tally;
    const Tally& before = entry.before;
    const char* why = nullptr;
    if (now.rounds >= glance && before.shortest != 0 && now.shortest > 2 * before.shortest)
        why = "the rounds became much longer";
    else if (now.rounds < window)
        return {};
    else if (entry.remedy == Remedy::read_mostly && 4 * now.ended > now.rounds)
        why = "the copies did not last";
    else if (2 * now.moved > now.rounds || 2 * now.faults * before.moved > before.faults * now.rounds)
        why = "it came and went as before";
    else if (before.shortest != 0 && 4 * now.shortest > 5 * before.shortest)
        why = "the rounds became longer";
    entry.tally = {};
    if (why == nullptr)
        return {};
    entry.state = State::left;
    return {ReliefStep::Kind::withdraw, entry.remedy, entry.first, entry.last - entry.first, why};
}

ReliefStep ReliefPolicy::launch(std::uint64_t allocation, std::uint64_t address, std::uint64_t bytes,
                                std::uint64_t now) noexcept {
    Entry* const known = find(allocation);
    if (known == nullptr) {
        if (Entry* const entry = claim(allocation)) {
            entry->began = now;
            entry->waits = waits_;
        }
        return {};
    }
    if (known->state == State::left || known->waits == waits_)
        return {};
    known->waits = waits_;
    if (!known->stays)
        unconcerned_ = 0;
    known->stays = true;
    close_round(*known, now);
    if (known->state == State::watched) {
        unconcerned_ = 0;
        return judge(*known);
    }
    if (known->quiet == window) {
        known->tally = {};
        known->first = known->last = known->content = 0;
    }
    return known->quiet == 0 ? choose(*known, address, bytes) : ReliefStep{};
}

} // namespace umadvisor::policy
