/// Numbers given to pairs of words.
#pragma once

#include "interposer/record/bounds.hpp"
#include "interposer/record/pages.hpp"

#include <cstddef>
#include <cstdint>

namespace umadvisor::record {

/// Open addressing, doubled when half full. Not thread-safe: its owner's lock covers it.
class NumberTable {
public:
    constexpr explicit NumberTable(Bound bound, std::size_t room) noexcept : bound_(bound), room_(room) {}
    constexpr explicit NumberTable(Bound bound) noexcept : NumberTable(bound, most(bound)) {}

    /// The pair's number; `fresh` when it was given just now. Numbers count from 1; 0: no memory, or no room.
    std::uint32_t number(std::uint64_t first, std::uint64_t second, bool& fresh) noexcept {
        fresh = false;
        if (used_ * 2 >= slots_ && !enlarge())
            return 0;
        Slot& slot = find(first, second);
        if (slot.number == 0 && used_ == room_) {
            reached(bound_);
            return 0;
        }
        fresh = slot.number == 0;
        if (fresh)
            slot = {first, second, ++used_};
        return slot.number;
    }

private:
    struct Slot {
        std::uint64_t first, second;
        std::uint32_t number; ///< 0: free
    };

    Slot& find(std::uint64_t first, std::uint64_t second) noexcept {
        std::uint64_t at = (first * 0x9e3779b97f4a7c15u ^ second) * 0xff51afd7ed558ccdu >> 20;
        for (;; ++at)
            if (Slot& slot = table_[at & (slots_ - 1)];
                slot.number == 0 || (slot.first == first && slot.second == second))
                return slot;
    }

    bool enlarge() noexcept {
        const std::size_t slots = slots_ == 0 ? 4096 : slots_ * 2;
        auto* const table = static_cast<Slot*>(map_pages(slots * sizeof(Slot)));
        if (table == nullptr)
            return false;
        Slot* const old = table_;
        const std::size_t old_slots = slots_;
        table_ = table;
        slots_ = slots;
        for (std::size_t i = 0; i < old_slots; ++i)
            if (old[i].number != 0)
                find(old[i].first, old[i].second) = old[i];
        if (old != nullptr)
            unmap_pages(old, old_slots * sizeof(Slot));
        return true;
    }

    Bound bound_;
    std::size_t room_; ///< pairs
    Slot* table_ = nullptr;
    std::size_t slots_ = 0;
    std::uint32_t used_ = 0;
};

} // namespace umadvisor::record
