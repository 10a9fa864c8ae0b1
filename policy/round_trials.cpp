#include "policy/round_trials.hpp"

#include "residency/prices.hpp"

#include <algorithm>

namespace umadvisor::policy {

using residency::decision_prices;
using residency::transfer_time;

ComparedRounds::Site* ComparedRounds::find(std::uint64_t name, bool claim) noexcept {
    const std::uint64_t hash = name * 0x9e3779b97f4a7c15u >> 32;
    for (std::size_t i = 0; i < most_sites; ++i) {
        Site& site = sites_[(hash + i) % most_sites];
        if (site.name == 0 && claim)
            site.name = name;
        if (site.name == name)
            return &site;
        if (site.name == 0)
            return nullptr;
    }
    return nullptr;
}

bool ComparedRounds::begins(std::uint64_t site, std::uint64_t bytes, std::uint64_t waits,
                            std::uint64_t now) noexcept {
    Site* const known = find(site, true);
    if (known == nullptr || (known->rounds != 0 && known->waits == waits))
        return false;
    if (begun_ == 0)
        begun_ = now;
    known->last_ns = known->rounds == 0 ? 0 : now - std::min(now, known->began);
    known->began = now;
    known->waits = waits;
    ++known->rounds;
    const std::uint64_t rounds = known->last_ns == 0 ? 1 : least_ns / known->last_ns + 1;
    const std::uint64_t cost = transfer_time(bytes, decision_prices.faults_both_ways) * rounds;
    if (known->covered || known->rounds < known->next ||
        (now - std::min(now, begun_)) / share < spent_ns_ + cost)
        return false;
    known->next = growth * known->rounds;
    spent_ns_ += cost;
    return true;
}

std::uint64_t ComparedRounds::deadline(std::uint64_t site, std::uint64_t now) const noexcept {
    const Site* const known = const_cast<ComparedRounds*>(this)->find(site, false);
    constexpr std::uint64_t times = 16;
    return now + times * std::max(least_ns, known == nullptr ? 0 : known->last_ns);
}

void ComparedRounds::covered(std::uint64_t site) noexcept {
    if (Site* const known = find(site, true))
        known->covered = true;
}

namespace {

/// By at least a tenth: a trial costs its own migrations, and the times of rounds vary.
bool clearly_shorter(std::uint64_t now, std::uint64_t before) {
    return 10 * now < 9 * before;
}

constexpr std::uint32_t most_worse = 4;

} // namespace

DeviceTurns::Entry* DeviceTurns::find(std::uint64_t allocation) noexcept {
    Entry& entry = entries_[allocation % slots];
    return entry.allocation == allocation ? &entry : nullptr;
}

bool DeviceTurns::concerns(std::uint64_t allocation) const noexcept {
    const Entry& entry = entries_[allocation % slots];
    return entry.allocation == allocation && entry.state != State::left;
}

void DeviceTurns::enter(Entry& entry, State state) noexcept {
    entry.state = state;
    entry.rounds = entry.worse = 0;
    entry.last = entry.before_last = 0;
}

bool DeviceTurns::leave(std::uint64_t allocation) noexcept {
    Entry* const entry = find(allocation);
    if (trying_ == allocation)
        trying_ = 0;
    if (entry == nullptr) {
        if (Entry& slot = entries_[allocation % slots]; slot.allocation == 0) {
            slot = {};
            slot.allocation = allocation;
            slot.state = State::left;
        }
        return false;
    }
    const bool copies = entry->state == State::trying_copies || entry->state == State::copying;
    enter(*entry, State::left);
    return copies;
}

void DeviceTurns::forget(std::uint64_t allocation) noexcept {
    if (trying_ == allocation)
        trying_ = 0;
    if (Entry* const entry = find(allocation))
        *entry = {};
}

DeviceTurns::Change DeviceTurns::take_change(std::uint64_t allocation) noexcept {
    Entry* const entry = find(allocation);
    const Change change = entry != nullptr ? entry->change : Change::none;
    if (entry != nullptr)
        entry->change = Change::none;
    return change;
}

DeviceTurns::Step DeviceTurns::launch(std::uint64_t allocation, std::uint64_t bytes, std::uint32_t device,
                                      std::uint64_t waits, std::uint64_t now) noexcept {
    Entry* entry = find(allocation);
    if (entry == nullptr) {
        Entry& slot = entries_[allocation % slots];
        if (bytes < least_bytes || slot.allocation != 0)
            return Step::leave;
        slot = {};
        slot.allocation = allocation;
        slot.anchor = slot.last_device = device;
        slot.waits = waits;
        return Step::leave;
    }
    if (entry->state == State::left)
        return Step::leave;
    const bool turn = device != entry->last_device;
    if (turn) {
        ++entry->turns;
        entry->in_order = entry->in_order && waits != entry->waits;
    }
    entry->last_device = device;
    entry->waits = waits;
    if (!turn)
        return Step::leave;
    Step step = Step::leave;
    if (device == entry->anchor)
        step = end_round(*entry, bytes, waits, now);
    const bool moves = entry->state != State::watching && entry->state != State::left;
    return step == Step::leave && moves ? Step::bring : step;
}

DeviceTurns::Step DeviceTurns::end_round(Entry& entry, std::uint64_t bytes, std::uint64_t waits,
                                         std::uint64_t now) noexcept {
    // Without a wait in the round, the host's time says nothing about the devices' time.
    const std::uint64_t took =
        entry.began != 0 && waits != entry.began_waits ? std::max<std::uint64_t>(1, now - entry.began) : 0;
    Step step = Step::leave;
    switch (entry.state) {
    case State::watching:
        entry.before_last = entry.last;
        entry.last = took;
        if (took != 0 && ++entry.rounds > watched) // the first round migrates what the host initialised
            step = try_something(entry, bytes);
        if (entry.state == State::watching && entry.rounds == most_watched)
            enter(entry, State::left); // saves each launch the question
        break;
    case State::trying_bring:
    case State::trying_copies:
        step = judge(entry, took);
        break;
    default:
        step = watch_over(entry, took);
    }
    entry.began = now;
    entry.began_waits = waits;
    entry.turns = 0;
    entry.in_order = true;
    return step;
}

DeviceTurns::Step DeviceTurns::try_something(Entry& entry, std::uint64_t bytes) noexcept {
    const std::uint64_t usual = std::min(entry.last, entry.before_last);
    const std::uint64_t turns = entry.in_order ? entry.turns : 1;
    if (trying_ != 0 || usual == 0 || usual < transfer_time(turns * bytes, decision_prices.faults_at_most))
        return Step::leave;
    const bool brings = entry.in_order && !entry.tried_bring;
    if (!brings && entry.tried_copies) {
        enter(entry, State::left);
        return Step::leave;
    }
    entry.bare = entry.baseline = usual;
    trying_ = entry.allocation;
    (brings ? entry.tried_bring : entry.tried_copies) = true;
    enter(entry, brings ? State::trying_bring : State::trying_copies);
    return brings ? Step::bring : Step::begin_copies;
}

/// A strategy that is tried is kept, goes on for another round, or ends.
DeviceTurns::Step DeviceTurns::judge(Entry& entry, std::uint64_t took) noexcept {
    const bool copies = entry.state == State::trying_copies;
    entry.before_last = entry.last;
    entry.last = took;
    const bool much_longer = took == 0 || took > 2 * entry.baseline;
    if (!much_longer && ++entry.rounds < tried)
        return Step::leave;
    trying_ = 0;
    const std::uint64_t best = entry.before_last == 0 ? took : std::min(took, entry.before_last);
    if (!much_longer && clearly_shorter(best, entry.baseline)) {
        enter(entry, copies ? State::copying : State::bringing);
        entry.change = copies ? Change::copies : Change::brings;
        return Step::leave;
    }
    const bool instead_of_bringing = copies && entry.baseline != entry.bare;
    enter(entry, instead_of_bringing ? State::bringing : State::watching);
    return instead_of_bringing ? Step::end_and_bring : copies ? Step::end_copies : Step::leave;
}

/// A strategy that was kept ends once rounds become as long as they were without it.
DeviceTurns::Step DeviceTurns::watch_over(Entry& entry, std::uint64_t took) noexcept {
    entry.before_last = entry.last;
    entry.last = took;
    ++entry.rounds;
    entry.worse = took > entry.bare ? entry.worse + 1 : 0;
    if (entry.worse == most_worse)
        return give_up(entry);
    const std::uint64_t usual = std::min(entry.last, entry.before_last);
    if (entry.state != State::bringing || entry.tried_copies || entry.rounds < settled || trying_ != 0 ||
        usual == 0)
        return Step::leave;
    entry.baseline = usual;
    entry.tried_copies = true;
    trying_ = entry.allocation;
    enter(entry, State::trying_copies);
    return Step::begin_copies;
}

DeviceTurns::Step DeviceTurns::give_up(Entry& entry) noexcept {
    const bool copies = entry.state == State::copying;
    enter(entry, State::left);
    entry.change = Change::gives_up;
    return copies ? Step::end_copies : Step::leave;
}

} // namespace umadvisor::policy
