/// Numbers given to pairs of words.
#pragma once

#include "interposer/base/hash.hpp"
#include "interposer/base/table.hpp"
#include "interposer/record/bounds.hpp"

#include <cstddef>
#include <cstdint>

namespace umadvisor::record {

/// Not thread-safe: its owner's lock covers it.
class NumberTable {
public:
    constexpr explicit NumberTable(Bound bound, std::size_t room) noexcept : bound_(bound), room_(room) {}
    constexpr explicit NumberTable(Bound bound) noexcept : NumberTable(bound, most(bound)) {}

    /// The pair's number; `fresh` if this call gave it. Numbers count from 1; 0: no memory, or the table is
    /// full.
    std::uint32_t number(std::uint64_t first, std::uint64_t second, bool& fresh) noexcept {
        const Slot key{first, second, 0};
        fresh = false;
        if (const Slot* const known = table_.find(key.hash(), [&](const Slot& slot) {
                return !slot.free() && slot.first == first && slot.second == second;
            }))
            return known->number;
        if (table_.used() == room_) {
            reached(bound_);
            return 0;
        }
        Slot* const slot = table_.add(key.hash());
        if (slot == nullptr)
            return 0;
        fresh = true;
        *slot = {first, second, static_cast<std::uint32_t>(table_.used())};
        return slot->number;
    }

private:
    struct Slot {
        std::uint64_t first, second;
        std::uint32_t number; ///< 0: free

        bool free() const noexcept { return number == 0; }
        std::uint64_t hash() const noexcept { return base::hash(first, second); }
    };

    Bound bound_;
    std::size_t room_; ///< pairs
    base::Table<Slot, base::Searched::under_the_lock> table_;
};

} // namespace umadvisor::record
