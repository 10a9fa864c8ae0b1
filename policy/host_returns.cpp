#include "policy/host_returns.hpp"

#include "policy/mix.hpp"
#include "residency/prices.hpp"

#include <algorithm>
#include <bit>
#include <utility>

namespace umadvisor::policy {

void AllocationNames::add(std::uint64_t allocation, std::uint64_t bytes, std::uint64_t stack,
                          std::uint64_t key) noexcept {
    if (key == 0 || by_allocation_[allocation % slots] != 0)
        return;
    for (std::uint64_t alike = 0; alike < most_alike; ++alike) {
        const std::uint64_t name = mix(mix(key, bytes), alike) | 1;
        const std::uint64_t place = name >> 1 & (slots - 1);
        Slot& slot = by_name_[place];
        if (slot.allocation != 0 && slot.named.name == name)
            continue;
        if (slot.allocation == 0) {
            slot = {allocation, {name, bytes, stack}};
            by_allocation_[allocation % slots] = static_cast<std::uint16_t>(place + 1);
        }
        return;
    }
}

void AllocationNames::remove(std::uint64_t allocation) noexcept {
    std::uint16_t& place = by_allocation_[allocation % slots];
    if (place == 0 || by_name_[place - 1].allocation != allocation)
        return;
    by_name_[place - 1].allocation = 0;
    place = 0;
}

AllocationNames::Named AllocationNames::find(std::uint64_t allocation) const noexcept {
    const std::uint16_t place = by_allocation_[allocation % slots];
    return place != 0 && by_name_[place - 1].allocation == allocation ? by_name_[place - 1].named : Named{};
}

LastReach::Turns& LastReach::find(std::uint64_t address, std::uint64_t bytes) noexcept {
    const std::uint64_t key = mix(address, bytes) | 1;
    Turns& turns = turns_[(key >> 1) % slots];
    if (turns.key != key) {
        turns = {};
        turns.key = key;
    }
    return turns;
}

LastReach::NextWait LastReach::launch(std::uint64_t address, std::uint64_t bytes, std::uint64_t stream,
                                      std::uint64_t now) noexcept {
    Turns& turns = find(address, bytes);
    if (turns.told) { // it was not the last
        turns.told = false;
        turns.agreed = distrusted;
    }
    if (turns.launches == 0)
        turns.stream = stream;
    turns.several_streams = turns.several_streams || turns.stream != stream;
    ++turns.launches;
    turns.last = now;
    turns.told = turns.agreed >= believed && turns.launches == turns.expected && !turns.several_streams;
    return turns.told ? NextWait{turns.place, turns.meanwhile} : NextWait{};
}

void LastReach::wait(std::uint64_t address, std::uint64_t bytes, std::uint64_t place,
                     std::uint64_t begun) noexcept {
    Turns& turns = find(address, bytes);
    const bool same = turns.place == place && turns.expected == turns.launches && !turns.several_streams;
    turns.agreed = same ? std::min(turns.agreed + 1, believed) : std::min(turns.agreed, 0);
    turns.place = place;
    turns.meanwhile = begun - std::min(begun, turns.last);
    turns.expected = turns.launches;
    turns.launches = 0;
    turns.several_streams = turns.told = false;
}

TakenPart::Range TakenPart::next(std::uint64_t room) const noexcept {
    const std::uint64_t bytes = last_.last - last_.first;
    const std::uint64_t first = step_ == 0 ? last_.first : (last_.first + step_) % room;
    return bytes <= room && first <= room - bytes ? Range{first, first + bytes} : Range{};
}

void TakenPart::took(Range range, std::uint64_t room) noexcept {
    const std::uint64_t bytes = range.last - range.first, before = last_.last - last_.first;
    const std::uint64_t both = std::min(range.last, last_.last) -
                               std::min({std::max(range.first, last_.first), range.last, last_.last});
    std::uint64_t step = 0;
    if (2 * both < std::max(bytes, before) && bytes == before)
        step = (range.first + room - last_.first) % room;
    const bool as_before = step_ == step && (step != 0 || 2 * both >= std::max(bytes, before));
    agreed_ = as_before ? agreed_ + 1 : 1;
    step_ = step;
    last_ = range;
}

namespace {

using residency::block_bytes;

constexpr std::uint32_t most_between_trials = 64; ///< rounds; a block's faults are not worth more often
constexpr std::uint32_t first_trial = 4;
constexpr std::uint64_t many_blocks = 8;
constexpr std::uint32_t tried_before = 5; ///< rounds of an earlier run that count here

/// In rounds 4, 16, 64, 128, ...: soon, as long as a habit is new, but for one of few blocks, whose faults take
/// as long as bringing several.
bool try_out(std::uint32_t round, std::uint64_t blocks) {
    const bool early = std::has_single_bit(round) && std::countr_zero(round) % 2 == 0 && round >= first_trial;
    return (early && (blocks >= many_blocks || round > first_trial)) ||
           (round != 0 && round % most_between_trials == 0);
}

/// Behind a kernel the driver moves memory more slowly than after the wait. So much is left to a wait that
/// comes before a quarter of it would have moved.
bool may_follow(std::uint64_t bytes, std::uint64_t meanwhile) {
    constexpr std::uint64_t much = 8u << 20;
    return bytes < much ||
           meanwhile >= residency::transfer_time(bytes, residency::decision_prices.return_after_wait) / 4;
}

/// Not by its id: what is allocated anew in each round mostly comes to stand where it stood.
std::uint64_t key_of(std::uint64_t place, std::uint64_t address, std::uint64_t bytes) {
    return mix(mix(place, address), bytes) | 1;
}

} // namespace

/// In bytes from the allocation's start; nothing where that is little, or scattered.
TakenPart::Range HostReturns::taken(const Round& round) noexcept {
    if (!round.looked || round.bytes < least_bytes || round.bytes < (round.last - round.first) / 2)
        return {};
    return {round.first - round.address, round.last - round.address};
}

HostReturns::Round* HostReturns::find(std::uint64_t allocation) noexcept {
    return const_cast<Round*>(std::as_const(*this).find(allocation));
}

const HostReturns::Round* HostReturns::find(std::uint64_t allocation) const noexcept {
    const Round& round = rounds_[allocation % rounds];
    return round.allocation == allocation && allocation != 0 ? &round : nullptr;
}

HostReturns::Span HostReturns::wait(std::uint64_t place, std::uint64_t allocation, std::uint64_t address,
                                    std::uint64_t bytes, std::uint64_t in_runs) noexcept {
    const std::uint64_t key = key_of(place, address, bytes);
    Round& round = rounds_[allocation % rounds];
    Habit& known = habit(key);
    Span span;
    if (round.allocation == allocation && round.key == key && round.ahead) {
        round.ahead = false;
    } else {
        round = {allocation, address, bytes, key, in_runs, {}, 0, 0, 0, false, false};
        if (known.key != key)
            adopt(key, in_runs, bytes);
        if (known.key == key)
            span = bring(known, round, 0);
    }
    // Told here, where it is known of which wait. Where a run begins is not where this one will be.
    if (!round.brought.empty() && known.brought == 1 && known.part.step() == 0)
        tell(known, false);
    return span;
}

HostReturns::Span HostReturns::ahead_of_wait(const LastReach::NextWait& next, std::uint64_t allocation,
                                             std::uint64_t address, std::uint64_t bytes,
                                             std::uint64_t tried) noexcept {
    const std::uint64_t key = key_of(next.place, address, bytes);
    Habit& known = habit(key);
    const TakenPart::Range part = known.part.next(bytes);
    if (known.key != key || !may_follow(part.last - part.first, next.meanwhile))
        return {};
    Round& round = rounds_[allocation % rounds];
    round = {allocation, address, bytes, key, known.in_runs, {}, 0, 0, 0, false, false};
    const Span span = bring(known, round, tried);
    round.ahead = !round.brought.empty();
    return span;
}

HostReturns::Span HostReturns::bring(Habit& known, Round& round, std::uint64_t tried) noexcept {
    const TakenPart::Range part = known.part.next(round.room);
    if (part.first == part.last || known.part.agreed() <= 2 * known.misses + (known.part.step() != 0))
        return {};
    Span span{round.address + part.first, round.address + part.last};
    const std::uint64_t blocks = (span.last - 1) / block_bytes - span.first / block_bytes + 1;
    if (tried < span.last && tried + block_bytes > span.first) {
        span.left_out = std::max(span.first, tried); // one trial of both ways
    } else if (try_out(known.brought, blocks)) {
        const std::uint64_t which = mix(known.key, known.brought) % blocks;
        span.left_out = std::max(span.first, (span.first / block_bytes + which) * block_bytes);
    }
    ++known.brought;
    round.brought = span;
    return span;
}

void HostReturns::leave(std::uint64_t allocation) noexcept {
    if (Round* const round = find(allocation)) {
        round->brought = {};
        round->ahead = false;
    }
}

void HostReturns::expect(std::uint64_t in_runs, std::uint64_t first, std::uint64_t last) noexcept {
    if (in_runs != 0 && first < last)
        expected_[place_of(in_runs)] = {in_runs, first, last, false};
}

void HostReturns::adopt(std::uint64_t key, std::uint64_t in_runs, std::uint64_t bytes) noexcept {
    Lesson& expected = expected_[place_of(in_runs)];
    if (in_runs == 0 || expected.in_runs != in_runs || expected.last > bytes)
        return;
    habit(key) = {key, in_runs, TakenPart({expected.first, expected.last}), tried_before, 0, false};
    expected = {}; // where its place is wanted by another habit, this run's own rounds tell
    tell(habit(key), false);
}

void HostReturns::tell(const Habit& habit, bool given_up) noexcept {
    if (habit.in_runs != 0 && told_count_ - taken_count_ < lessons)
        told_[told_count_++ % lessons] = {habit.in_runs, habit.part.last().first, habit.part.last().last,
                                          given_up};
}

bool HostReturns::take_lesson(Lesson& lesson) noexcept {
    if (taken_count_ == told_count_)
        return false;
    lesson = told_[taken_count_++ % lessons];
    return true;
}

bool HostReturns::has_brought(std::uint64_t allocation) const noexcept {
    const Round* const round = find(allocation);
    return round != nullptr && !round->brought.empty();
}

void HostReturns::looking(std::uint64_t allocation) noexcept {
    if (Round* const round = find(allocation))
        round->looked = true;
}

void HostReturns::took(std::uint64_t allocation, std::uint64_t first, std::uint64_t last) noexcept {
    Round* const round = find(allocation);
    if (round == nullptr)
        return;
    const auto add = [round](std::uint64_t from, std::uint64_t until) {
        if (from >= until)
            return;
        round->first = round->bytes == 0 ? from : std::min(round->first, from);
        round->last = std::max(round->last, until);
        round->bytes += until - from;
    };
    // A look at the page table does not tell what was brought from what the host came for.
    round->brought.for_each_part([&](std::uint64_t from, std::uint64_t until) {
        add(first, std::min(last, from));
        first = std::max(first, until);
    });
    add(first, last);
}

void HostReturns::launch(std::uint64_t allocation) noexcept {
    Round* const round = find(allocation);
    if (round == nullptr)
        return;
    if (!round->ahead)
        learn(*round);
    round->allocation = 0;
}

void HostReturns::learn(const Round& round) noexcept {
    Habit& known = habit(round.key);
    const bool is_known = known.key == round.key;
    const TakenPart::Range part = taken(round);
    if (!round.brought.empty()) {
        if (is_known)
            judge(known, round, part);
    } else if (part.first != part.last) {
        if (!is_known)
            known = {round.key, round.in_runs, {}, 0, 0, false};
        known.part.took(part, round.room);
    } else if (is_known && round.looked) {
        known.part.took_nothing();
    }
}

/// Whether what was brought was wanted. `part`: what was taken that was not.
void HostReturns::judge(Habit& known, const Round& round, TakenPart::Range part) noexcept {
    const std::uint64_t left_out = round.brought.left_out, end = (left_out / block_bytes + 1) * block_bytes;
    const bool wanted = round.bytes != 0 && round.first < end && round.last > left_out;
    // What it has taken besides, it has taken instead: another part each time.
    if (!round.looked || (left_out != 0 ? wanted : round.bytes < least_bytes)) {
        known.misses -= round.looked && left_out != 0 && known.misses != 0;
        known.part.took_next(round.room);
        return;
    }
    const bool stayed = known.part.step() == 0;
    if (part.first != part.last)
        known.part.took(part, round.room);
    else
        known.part.took_nothing();
    const bool has_moved = stayed && known.part.step() != 0 && !known.has_moved;
    known.has_moved = known.has_moved || has_moved;
    known.misses += !has_moved;
    known.brought = 0;
    tell(known, true);
}

} // namespace umadvisor::policy
