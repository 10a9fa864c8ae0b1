/// The order of a program's launches, and what it foretells: most programs repeat themselves.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace umadvisor::policy {

/// Remembers which allocations each of the last launches reached. As long as launches go on as they did once
/// before, what came next then is what comes next now. Not thread-safe: its owner's lock covers it. Never
/// grows; what it has no room for it forgets.
class LaunchSequence {
public:
    static constexpr std::uint32_t unknown = 0xffff'ffff; ///< no next use is known

    constexpr LaunchSequence() noexcept = default;

    /// A launch reaches these allocations, by address: what is freed and allocated anew in each round mostly
    /// stands where it stood.
    void add(std::span<const std::uint64_t> allocations) noexcept;

    /// Calls `visit(allocation, launches)` for what the next launches are expected to reach, the very next one
    /// with `launches` 1, in that order, until it returns false. Nothing while the program does what it has
    /// never done. A period is gone through once.
    template <class Visit>
    void foretell(Visit&& visit) const noexcept {
        if (next_ == none)
            return;
        std::uint32_t launches = 0;
        for (std::uint64_t at = next_; at < count_; ++at) {
            ++launches;
            for (const std::uint64_t allocation : reach(tape_[at % length]))
                if (!visit(allocation, launches))
                    return;
        }
    }

private:
    static constexpr std::size_t length = 4096;  ///< launches
    static constexpr std::size_t sets = 1024;    ///< different ones
    static constexpr std::size_t members = 8192; ///< of all sets
    static constexpr std::uint64_t none = ~std::uint64_t{0};

    struct Set {
        std::uint64_t hash;
        std::uint16_t first, count; ///< in members_
    };

    std::span<const std::uint64_t> reach(std::uint16_t set) const noexcept {
        return {members_ + sets_[set].first, sets_[set].count};
    }
    std::uint16_t set_of(std::span<const std::uint64_t> allocations) noexcept;
    std::uint64_t likeness(std::uint64_t at) const noexcept;
    void find_precedent() noexcept;

    std::uint64_t count_ = 0;   ///< launches so far
    std::uint64_t next_ = none; ///< number of the launch that the next one is expected to be like
    std::uint16_t tape_[length] = {};
    std::uint16_t set_count_ = 0, member_count_ = 0;
    Set sets_[sets] = {};
    std::uint16_t by_hash_[2 * sets] = {}; ///< open addressing; number + 1
    std::uint64_t members_[members] = {};
};

} // namespace umadvisor::policy
