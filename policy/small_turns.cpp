#include "policy/small_turns.hpp"

#include <algorithm>
#include <numeric>

namespace umadvisor::policy {

namespace {

constexpr unsigned most_elsewhere = 8;  ///< rounds; then another call site's launches are timed
constexpr unsigned most_uncounted = 64; ///< rounds; then a trial ends without a result
constexpr unsigned most_unheard = 64;   ///< rounds of others; then a trial is that of a loop that has ended
constexpr unsigned free_trials = 4;     ///< of all allocations; each that comes later has to be paid for
constexpr unsigned most_unreturned = 2; ///< rounds; then the last launch before the wait is not known

/// By at least a tenth: the times of rounds vary, and prefetches are work for the driver.
bool clearly_shorter(std::uint64_t now, std::uint64_t before) {
    return 10 * now < 9 * before;
}

} // namespace

SmallTurns::Entry* SmallTurns::find(std::uint64_t allocation) noexcept {
    Entry& entry = entries_[allocation % slots];
    return entry.allocation == allocation ? &entry : nullptr;
}

const SmallTurns::Entry* SmallTurns::find(std::uint64_t allocation) const noexcept {
    const Entry& entry = entries_[allocation % slots];
    return entry.allocation == allocation ? &entry : nullptr;
}

void SmallTurns::enter(Entry& entry, State state, Way way) noexcept {
    entry.state = state;
    entry.way = way;
    entry.rounds = entry.counted = entry.shared = entry.unreturned = 0;
}

/// The mean of the last rounds that counted, without the longest: it may be long for any reason. The median
/// would not do, since the driver holds up memory that thrashes in one round out of four.
std::uint64_t SmallTurns::usual(const Entry& entry) noexcept {
    const std::uint64_t sum = std::accumulate(entry.times, entry.times + judged, std::uint64_t{0});
    return (sum - *std::max_element(entry.times, entry.times + judged)) / (judged - 1);
}

SmallTurns::Way SmallTurns::way(std::uint64_t allocation) const noexcept {
    const Entry* const entry = find(allocation);
    return entry != nullptr ? entry->way : Way::to_device;
}

bool SmallTurns::has_returned(std::uint64_t allocation) const noexcept {
    const Entry* const entry = find(allocation);
    return entry != nullptr && entry->has_returned;
}

bool SmallTurns::compares(std::uint64_t allocation) const noexcept {
    const Entry* const entry = find(allocation);
    return entry != nullptr && entry->state != State::watching && entry->state != State::left;
}

void SmallTurns::host_has(std::uint64_t allocation) noexcept {
    if (Entry* const entry = find(allocation))
        entry->came_back = true;
}

void SmallTurns::returned(std::uint64_t allocation) noexcept {
    if (Entry* const entry = find(allocation))
        entry->returned = entry->has_returned = true;
}

void SmallTurns::leave(std::uint64_t allocation, std::uint64_t bytes) noexcept {
    Entry& slot = entries_[allocation % slots];
    if (bytes > most_bytes || (slot.allocation != 0 && slot.allocation != allocation))
        return;
    if (trying_ == allocation)
        trying_ = 0;
    slot = {};
    slot.allocation = allocation;
    slot.state = State::left;
}

void SmallTurns::forget(std::uint64_t allocation) noexcept {
    if (trying_ == allocation)
        trying_ = 0;
    if (Entry* const entry = find(allocation))
        *entry = {};
}

SmallTurns::Choice SmallTurns::take_choice() noexcept {
    const Choice choice = choice_;
    choice_ = {};
    return choice;
}

SmallTurns::Way SmallTurns::launch(std::uint64_t allocation, std::uint64_t bytes, std::uint64_t site,
                                   std::uint64_t waits, std::uint64_t now) noexcept {
    if (bytes > most_bytes)
        return Way::to_device;
    Entry& entry = entries_[allocation % slots];
    if (entry.allocation == 0) {
        entry = {};
        entry.allocation = allocation;
        if (begun_ == 0)
            begun_ = now;
    }
    if (entry.allocation != allocation || entry.state == State::left)
        return Way::to_device;
    entry.has_returned = false;
    if (entry.began != 0 && entry.waits == waits)
        return entry.way; // of the same round
    if (entry.began != 0 && entry.site != site && ++entry.elsewhere < most_elsewhere)
        return entry.way;
    if (entry.began != 0 && entry.site == site)
        end_round(entry, now);
    entry.site = site;
    entry.waits = waits;
    entry.began = now;
    entry.disturbances = disturbances_;
    entry.elsewhere = 0;
    entry.came_back = entry.returned = false;
    return entry.way;
}

void SmallTurns::end_round(Entry& entry, std::uint64_t now) noexcept {
    const std::uint64_t took = std::max<std::uint64_t>(1, now - std::min(now, entry.began));
    const bool tries = trying_ == entry.allocation;
    const bool spoilt = entry.disturbances != disturbances_ || (trying_ != 0 && !tries);
    ++entry.rounds;
    unheard_ = tries ? 0 : unheard_ + 1;
    if (trying_ != 0 && unheard_ >= most_unheard)
        give_up(entries_[trying_ % slots]);
    if (tries) {
        entry.trial_ns += took;
        ++entry.trial_rounds;
    }
    if (entry.way == Way::both && !entry.returned)
        ++entry.unreturned;
    else if (!spoilt)
        entry.times[entry.counted++ % judged] = took;
    entry.shared = entry.came_back && !spoilt ? entry.shared + 1 : 0;
    if (tries && entry.rounds == most_uncounted)
        return give_up(entry);
    switch (entry.state) {
    case State::watching:
        if (entry.shared >= shared && trying_ == 0 &&
            (begun_trials_ < free_trials || (now - std::min(now, begun_)) / share >= spent_))
            begin_trial(entry, false);
        return;
    case State::trying_prefetches:
        if (entry.way == Way::both && entry.counted == 0 && entry.unreturned == most_unreturned)
            enter(entry, State::trying_prefetches, entry.prefetches = Way::to_device);
        else if (entry.counted == judged)
            judge_prefetches(entry);
        return;
    case State::trying_faults:
        if (entry.counted == settling)
            judge_faults(entry);
        return;
    case State::settling_down:
        if (entry.counted == settling) {
            enter(entry, State::kept, Way::faults);
            end_trial(entry);
        }
        return;
    case State::kept:
        if (is_due(entry, now))
            begin_trial(entry, !entry.keeps_faults);
        return;
    case State::left:
        return;
    }
}

bool SmallTurns::is_due(const Entry& entry, std::uint64_t now) const noexcept {
    return trying_ == 0 && entry.rounds >= entry.again && entry.counted >= judged &&
           (now - std::min(now, begun_)) / share >= spent_ + entry.cost;
}

void SmallTurns::begin_trial(Entry& entry, bool faults) noexcept {
    if (entry.state == State::kept)
        (faults ? entry.prefetched : entry.faulted) = usual(entry);
    trying_ = entry.allocation;
    unheard_ = 0;
    ++begun_trials_;
    entry.trial_ns = entry.trial_rounds = 0;
    if (faults)
        return enter(entry, State::trying_faults, Way::faults);
    enter(entry, State::trying_prefetches, entry.prefetches = Way::both);
}

void SmallTurns::judge_prefetches(Entry& entry) noexcept {
    entry.prefetched = usual(entry);
    if (entry.faulted == 0)
        return enter(entry, State::trying_faults, Way::faults);
    keep(entry);
    if (entry.keeps_faults)
        enter(entry, State::settling_down, Way::faults);
    else
        end_trial(entry);
}

void SmallTurns::judge_faults(Entry& entry) noexcept {
    entry.faulted = usual(entry);
    keep(entry);
    end_trial(entry);
}

/// The trial shows nothing: too few of its rounds counted.
void SmallTurns::give_up(Entry& entry) noexcept {
    if (entry.prefetched == 0)
        entry.prefetches = Way::to_device;
    keep(entry);
    end_trial(entry);
}

/// Keeps the better way, as far as both are known; else the way that the allocation had.
void SmallTurns::keep(Entry& entry) noexcept {
    const bool known = entry.prefetched != 0 && entry.faulted != 0;
    const bool faults = known ? !clearly_shorter(entry.prefetched, entry.faulted) : entry.keeps_faults;
    if (known && (!entry.chosen || entry.keeps_faults != faults)) {
        choice_ = {entry.allocation, faults ? Way::faults : entry.prefetches, entry.prefetched, entry.faulted};
        entry.chosen = true;
    }
    entry.keeps_faults = faults;
    entry.again = entry.again == 0 ? first_again : growth * entry.again;
    enter(entry, State::kept, faults ? Way::faults : entry.prefetches);
}

/// Counts what the trial took beyond as many rounds of the way that is kept.
void SmallTurns::end_trial(Entry& entry) noexcept {
    const std::uint64_t kept = entry.trial_rounds * (entry.keeps_faults ? entry.faulted : entry.prefetched);
    entry.cost = entry.trial_ns - std::min(entry.trial_ns, kept);
    spent_ += entry.cost;
    trying_ = 0;
}

} // namespace umadvisor::policy
