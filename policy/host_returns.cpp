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
        const std::uint64_t index = name >> 1 & (slots - 1);
        Slot& slot = by_name_[index];
        if (slot.allocation != 0 && slot.named.name == name)
            continue;
        if (slot.allocation == 0) {
            slot = {allocation, {name, bytes, stack}};
            by_allocation_[allocation % slots] = static_cast<std::uint16_t>(index + 1);
        }
        return;
    }
}

void AllocationNames::remove(std::uint64_t allocation) noexcept {
    std::uint16_t& number = by_allocation_[allocation % slots];
    if (number == 0 || by_name_[number - 1].allocation != allocation)
        return;
    by_name_[number - 1].allocation = 0;
    number = 0;
}

AllocationNames::Named AllocationNames::find(std::uint64_t allocation) const noexcept {
    const std::uint16_t number = by_allocation_[allocation % slots];
    return number != 0 && by_name_[number - 1].allocation == allocation ? by_name_[number - 1].named : Named{};
}

LastReach::Entry& LastReach::find(std::uint64_t address, std::uint64_t bytes) noexcept {
    const std::uint64_t key = mix(address, bytes) | 1;
    Entry& entry = entries_[(key >> 1) % slots];
    if (entry.key != key) {
        entry = {};
        entry.key = key;
    }
    return entry;
}

LastReach::NextWait LastReach::launch(std::uint64_t address, std::uint64_t bytes, std::uint64_t stream,
                                      std::uint64_t now) noexcept {
    Entry& entry = find(address, bytes);
    if (entry.announced) { // the launch announced as the last was not
        entry.announced = false;
        entry.agreed = distrusted;
    }
    if (entry.launches == 0)
        entry.stream = stream;
    entry.several_streams = entry.several_streams || entry.stream != stream;
    ++entry.launches;
    entry.last = now;
    entry.announced = entry.agreed >= believed && entry.launches == entry.expected && !entry.several_streams;
    return entry.announced ? NextWait{entry.site, entry.meanwhile} : NextWait{};
}

void LastReach::wait(std::uint64_t address, std::uint64_t bytes, std::uint64_t site,
                     std::uint64_t begun) noexcept {
    Entry& entry = find(address, bytes);
    const bool same = entry.site == site && entry.expected == entry.launches && !entry.several_streams;
    entry.agreed = same ? std::min(entry.agreed + 1, believed) : std::min(entry.agreed, 0);
    entry.site = site;
    entry.meanwhile = begun - std::min(begun, entry.last);
    entry.expected = entry.launches;
    entry.launches = 0;
    entry.several_streams = entry.announced = false;
}

FetchedPart::Range FetchedPart::next(std::uint64_t room) const noexcept {
    const std::uint64_t bytes = last_.last - last_.first;
    const std::uint64_t first = step_ == 0 ? last_.first : (last_.first + step_) % room;
    return bytes <= room && first <= room - bytes ? Range{first, first + bytes} : Range{};
}

void FetchedPart::fetched(Range range, std::uint64_t room) noexcept {
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

constexpr std::uint32_t most_between_trials = 64; ///< rounds; the faults of a block cost too much more often
constexpr std::uint32_t first_trial = 4;
constexpr std::uint64_t many_blocks = 8;
constexpr std::uint32_t tried_before = 5; ///< rounds that a pattern of an earlier run counts for

/// Whether a round leaves out a block: rounds 4, 16, 64, 128 and so on, which is often while a pattern is new.
/// With few blocks the first trial is skipped, since the faults of one block take as long as to prefetch
/// several.
bool try_out(std::uint32_t round, std::uint64_t blocks) {
    const bool early = std::has_single_bit(round) && std::countr_zero(round) % 2 == 0 && round >= first_trial;
    return (early && (blocks >= many_blocks || round > first_trial)) ||
           (round != 0 && round % most_between_trials == 0);
}

/// Whether a prefetch may be made right after the launch. Behind a kernel the driver moves memory more slowly
/// than after the wait. So a large prefetch is left to the wait if that comes before a quarter of the bytes
/// would have moved.
bool may_follow(std::uint64_t bytes, std::uint64_t meanwhile) {
    constexpr std::uint64_t much = 8u << 20;
    return bytes < much ||
           meanwhile >= residency::transfer_time(bytes, residency::decision_prices.return_after_wait) / 4;
}

/// Made of address and size, not of the id: a program that allocates anew in each round mostly gets the same
/// address.
std::uint64_t key_of(std::uint64_t site, std::uint64_t address, std::uint64_t bytes) {
    return mix(mix(site, address), bytes) | 1;
}

} // namespace

/// Empty where the host fetched little, or scattered pages.
FetchedPart::Range HostReturns::fetched_part(const Round& round) noexcept {
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

HostReturns::Span HostReturns::wait(std::uint64_t site, std::uint64_t allocation, std::uint64_t address,
                                    std::uint64_t bytes, std::uint64_t stable_key) noexcept {
    const std::uint64_t key = key_of(site, address, bytes);
    Round& round = rounds_[allocation % rounds];
    Pattern& known = pattern_in_slot(key);
    Span span;
    if (round.allocation == allocation && round.key == key && round.ahead) {
        round.ahead = false;
    } else {
        round = {allocation, address, bytes, key, stable_key, {}, 0, 0, 0, false, false};
        if (known.key != key)
            adopt(key, stable_key, bytes);
        if (known.key == key)
            span = bring(known, round, 0);
    }
    // The lesson is added here and not in ahead_of_wait(), since its wait is known here. A part that advances
    // is no lesson: the next run begins elsewhere.
    if (!round.brought.empty() && known.brought == 1 && known.part.step() == 0)
        add_lesson(known, false);
    return span;
}

HostReturns::Span HostReturns::ahead_of_wait(const LastReach::NextWait& next, std::uint64_t allocation,
                                             std::uint64_t address, std::uint64_t bytes,
                                             std::uint64_t tried) noexcept {
    const std::uint64_t key = key_of(next.site, address, bytes);
    Pattern& known = pattern_in_slot(key);
    const FetchedPart::Range part = known.part.next(bytes);
    if (known.key != key || !may_follow(part.last - part.first, next.meanwhile))
        return {};
    Round& round = rounds_[allocation % rounds];
    round = {allocation, address, bytes, key, known.stable_key, {}, 0, 0, 0, false, false};
    const Span span = bring(known, round, tried);
    round.ahead = !round.brought.empty();
    return span;
}

HostReturns::Span HostReturns::bring(Pattern& known, Round& round, std::uint64_t tried) noexcept {
    const FetchedPart::Range part = known.part.next(round.room);
    if (part.first == part.last || known.part.agreed() <= 2 * known.misses + (known.part.step() != 0))
        return {};
    Span span{round.address + part.first, round.address + part.last};
    const std::uint64_t blocks = (span.last - 1) / block_bytes - span.first / block_bytes + 1;
    if (tried < span.last && tried + block_bytes > span.first) {
        span.left_out = std::max(span.first, tried); // one trial for both directions
    } else if (try_out(known.brought, blocks)) {
        const std::uint64_t which = mix(known.key, known.brought) % blocks;
        span.left_out = std::max(span.first, (span.first / block_bytes + which) * block_bytes);
    }
    ++known.brought;
    round.brought = span;
    return span;
}

void HostReturns::cancel(std::uint64_t allocation) noexcept {
    if (Round* const round = find(allocation)) {
        round->brought = {};
        round->ahead = false;
    }
}

void HostReturns::expect(std::uint64_t stable_key, std::uint64_t first, std::uint64_t last) noexcept {
    if (stable_key != 0 && first < last)
        expected_[slot_of(stable_key)] = {stable_key, first, last, false};
}

void HostReturns::adopt(std::uint64_t key, std::uint64_t stable_key, std::uint64_t bytes) noexcept {
    Lesson& expected = expected_[slot_of(stable_key)];
    if (stable_key == 0 || expected.stable_key != stable_key || expected.last > bytes)
        return;
    pattern_in_slot(key) = {key,          stable_key, FetchedPart({expected.first, expected.last}),
                            tried_before, 0,          false};
    expected = {}; // it counts once: should another pattern need the slot, it is learned again from this run
    add_lesson(pattern_in_slot(key), false);
}

void HostReturns::add_lesson(const Pattern& pattern, bool given_up) noexcept {
    if (pattern.stable_key != 0 && lessons_added_ - lessons_popped_ < max_lessons)
        lessons_[lessons_added_++ % max_lessons] = {pattern.stable_key, pattern.part.last().first,
                                                    pattern.part.last().last, given_up};
}

bool HostReturns::pop_lesson(Lesson& lesson) noexcept {
    if (lessons_popped_ == lessons_added_)
        return false;
    lesson = lessons_[lessons_popped_++ % max_lessons];
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

void HostReturns::host_has(std::uint64_t allocation, std::uint64_t first, std::uint64_t last) noexcept {
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
    // The page table shows prefetched and faulted pages alike, so the prefetched ranges are left out.
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
    Pattern& known = pattern_in_slot(round.key);
    const bool is_known = known.key == round.key;
    const FetchedPart::Range part = fetched_part(round);
    if (!round.brought.empty()) {
        if (is_known)
            judge(known, round, part);
    } else if (part.first != part.last) {
        if (!is_known)
            known = {round.key, round.stable_key, {}, 0, 0, false};
        known.part.fetched(part, round.room);
    } else if (is_known && round.looked) {
        known.part.fetched_nothing();
    }
}

/// Decides whether the host used what was prefetched. `part` is what it fetched besides.
void HostReturns::judge(Pattern& known, const Round& round, FetchedPart::Range part) noexcept {
    const std::uint64_t left_out = round.brought.left_out, end = (left_out / block_bytes + 1) * block_bytes;
    const bool used = round.bytes != 0 && round.first < end && round.last > left_out;
    // Fetches besides are a miss too: the host used another part than the prefetched one.
    if (!round.looked || (left_out != 0 ? used : round.bytes < least_bytes)) {
        known.misses -= round.looked && left_out != 0 && known.misses != 0;
        known.part.fetched_as_expected(round.room);
        return;
    }
    const bool stayed = known.part.step() == 0;
    if (part.first != part.last)
        known.part.fetched(part, round.room);
    else
        known.part.fetched_nothing();
    const bool has_moved = stayed && known.part.step() != 0 && !known.has_moved;
    known.has_moved = known.has_moved || has_moved;
    known.misses += !has_moved;
    known.brought = 0;
    add_lesson(known, true);
}

} // namespace umadvisor::policy
