#include "policy/prefetch_plan.hpp"

#include "policy/mix.hpp"

#include <algorithm>

namespace umadvisor::policy {

namespace {

constexpr std::uint64_t most_back = 2048;  ///< launches; a longer period is not recognised
constexpr std::uint64_t most_likeness = 8; ///< preceding launches that are compared

std::uint64_t hash_of(std::span<const std::uint64_t> allocations) {
    std::uint64_t hash = allocations.size() + 1;
    for (const std::uint64_t allocation : allocations)
        hash = mix(hash, allocation);
    return hash;
}

} // namespace

std::uint16_t LaunchSequence::set_of(std::span<const std::uint64_t> allocations) noexcept {
    const std::uint64_t hash = hash_of(allocations);
    std::size_t at = hash % std::size(by_hash_);
    for (; by_hash_[at] != 0; at = (at + 1) % std::size(by_hash_))
        if (sets_[by_hash_[at] - 1].hash == hash)
            return static_cast<std::uint16_t>(by_hash_[at] - 1);
    if (set_count_ == sets || member_count_ + allocations.size() > members) {
        std::fill(std::begin(by_hash_), std::end(by_hash_), std::uint16_t{0});
        set_count_ = member_count_ = 0;
        count_ = 0;
        next_ = none;
        at = hash % std::size(by_hash_);
    }
    sets_[set_count_] = {hash, member_count_, static_cast<std::uint16_t>(allocations.size())};
    std::copy(allocations.begin(), allocations.end(), members_ + member_count_);
    member_count_ = static_cast<std::uint16_t>(member_count_ + allocations.size());
    by_hash_[at] = ++set_count_;
    return static_cast<std::uint16_t>(set_count_ - 1);
}

void LaunchSequence::add(std::span<const std::uint64_t> allocations) noexcept {
    const std::uint16_t set = set_of(allocations.first(std::min<std::size_t>(allocations.size(), 64)));
    tape_[count_ % length] = set;
    ++count_;
    if (next_ != none && count_ - next_ < length && tape_[next_ % length] == set)
        ++next_;
    else
        find_precedent();
}

/// How many launches in a row, back from number `at`, equal those back from the newest.
std::uint64_t LaunchSequence::likeness(std::uint64_t at) const noexcept {
    std::uint64_t same = 0;
    while (same < most_likeness && same <= at &&
           tape_[(at - same) % length] == tape_[(count_ - 1 - same) % length])
        ++same;
    return same;
}

/// Finds the launch whose preceding launches are most like the newest ones; of several, the latest.
void LaunchSequence::find_precedent() noexcept {
    next_ = none;
    std::uint64_t best = 0;
    const std::uint64_t newest = count_ - 1;
    const std::uint64_t oldest = newest - std::min(newest, most_back);
    for (std::uint64_t at = newest; at-- > oldest && best < most_likeness;)
        if (const std::uint64_t found = likeness(at); found > best) {
            best = found;
            next_ = at + 1;
        }
}

namespace {

/// Adds what fits of [first, last); whether all of it did.
bool add(std::uint64_t allocation, std::uint64_t first, std::uint64_t last, std::uint64_t budget,
         PrefetchPlan& plan) {
    std::uint64_t until = last;
    const std::uint64_t left = budget - plan.bytes;
    if (last - first > left) // cut at a block boundary: the rest of a split block would fault
        until = std::max(first, (first + left) / block_bytes * block_bytes);
    if (plan.count == PrefetchPlan::max_ranges)
        until = first;
    if (until != first) {
        plan.ranges[plan.count++] = {allocation, first, until - first};
        plan.bytes += until - first;
    }
    plan.withheld += last - until;
    return until == last;
}

/// Calls `visit(first, last)` for each run of missing blocks, clipped to the
/// allocation.
template <class Visit>
void for_each_missing(const ResidencyView& view, Visit&& visit) {
    const std::uint64_t base = view.address / block_bytes * block_bytes;
    const std::uint64_t end = view.address + view.bytes;
    const std::size_t blocks = std::min<std::size_t>(view.blocks.size(), blocks_of(view.address, view.bytes));
    for (std::size_t i = 0; i < blocks;) {
        if (!is_missing(view.blocks[i])) {
            ++i;
            continue;
        }
        std::size_t behind = i;
        while (behind < blocks && is_missing(view.blocks[behind]))
            ++behind;
        visit(std::max(view.address, base + i * block_bytes), std::min(end, base + behind * block_bytes));
        i = behind;
    }
}

} // namespace

void plan_prefetch(std::span<const ResidencyView> touched, std::uint64_t budget, PrefetchPlan& plan) noexcept {
    plan.count = 0;
    plan.bytes = plan.withheld = 0;
    for (const ResidencyView& view : touched)
        for_each_missing(view, [&](std::uint64_t first, std::uint64_t last) {
            if (!add(view.allocation, first, last, budget, plan))
                budget = plan.bytes; // ends the plan
        });
}

std::uint64_t missing_bytes(std::span<const ResidencyView> touched) noexcept {
    std::uint64_t bytes = 0;
    for (const ResidencyView& view : touched)
        for_each_missing(view, [&](std::uint64_t first, std::uint64_t last) { bytes += last - first; });
    return bytes;
}

namespace {

/// Evicts blocks from the end on: any block of the allocation costs the same to bring back.
void evict(const ResidencyView& view, std::uint64_t bytes, PrefetchPlan& plan) {
    const std::uint64_t base = view.address / block_bytes * block_bytes;
    const std::uint64_t end = view.address + view.bytes;
    for (std::size_t i = view.blocks.size(); i > 0 && plan.bytes < bytes;) {
        if (view.blocks[i - 1] != BlockState::device) {
            --i;
            continue;
        }
        if (plan.count == PrefetchPlan::max_ranges)
            return;
        const std::uint64_t behind = std::min(end, base + i * block_bytes);
        std::uint64_t first = behind;
        for (; i > 0 && view.blocks[i - 1] == BlockState::device && plan.bytes + (behind - first) < bytes; --i)
            first = std::max(view.address, base + (i - 1) * block_bytes);
        plan.ranges[plan.count++] = {view.allocation, first, behind - first};
        plan.bytes += behind - first;
    }
}

} // namespace

void predict_next_uses(std::span<Resident> residents, const LaunchSequence& sequence) noexcept {
    const auto before = [](const Resident& resident, std::uint64_t address) {
        return resident.view.address < address;
    };
    std::sort(residents.begin(), residents.end(), [](const Resident& left, const Resident& right) {
        return left.view.address < right.view.address;
    });
    for (Resident& resident : residents)
        resident.next_use = LaunchSequence::unknown;
    std::size_t left = residents.size();
    sequence.predict([&](std::uint64_t address, std::uint32_t launches) {
        const auto at = std::lower_bound(residents.begin(), residents.end(), address, before);
        if (at != residents.end() && at->view.address == address && at->next_use == LaunchSequence::unknown) {
            at->next_use = launches;
            --left;
        }
        return left != 0;
    });
}

void plan_eviction(std::span<Resident> residents, std::uint64_t bytes, PrefetchPlan& plan) noexcept {
    plan.count = 0;
    plan.bytes = plan.withheld = 0;
    std::sort(residents.begin(), residents.end(), [](const Resident& left, const Resident& right) {
        return left.next_use != right.next_use ? left.next_use > right.next_use
                                               : left.last_use < right.last_use;
    });
    for (const Resident& resident : residents)
        if (plan.bytes < bytes)
            evict(resident.view, bytes, plan);
}

} // namespace umadvisor::policy
