#include "policy/launch_sequence.hpp"

#include "policy/mix.hpp"

#include <algorithm>

namespace umadvisor::policy {

namespace {

constexpr std::uint64_t most_back = 2048;  ///< launches; a longer period is not recognised
constexpr std::uint64_t most_likeness = 8; ///< launches that went before: more tell no more

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

/// How many launches up to number `at` are those up to the newest.
std::uint64_t LaunchSequence::likeness(std::uint64_t at) const noexcept {
    std::uint64_t same = 0;
    while (same < most_likeness && same <= at &&
           tape_[(at - same) % length] == tape_[(count_ - 1 - same) % length])
        ++same;
    return same;
}

/// The launch most like the newest one by what went before, the latest of those.
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

} // namespace umadvisor::policy
