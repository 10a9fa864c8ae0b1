/// A hash table that grows.
#pragma once

#include "interposer/base/pages.hpp"

#include <algorithm>
#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>

namespace umadvisor::base {

/// Which threads may search a table while its owner adds to it under a lock.
enum class Searched { under_the_lock, by_any_thread };

/// Open addressing. Fewer than one in `room` slots are used. A slot of zeros is free. `Slot` is trivially
/// copyable and has free() and hash(), of which the upper bits count; if entries can be removed, it also has
/// gone(): such a slot may be used again, but a search goes on behind it.
///
/// A search by_any_thread does not lock and is safe in a signal handler. The member that makes a slot not free
/// must then be atomic and written last, with release. An outgrown table is never unmapped, since a reader may
/// be in it: all of them together are as large as the newest.
template <class Slot, Searched searched, std::size_t room = 2>
class Table {
public:
    constexpr Table() noexcept = default;
    Table(const Table&) = delete;
    Table& operator=(const Table&) = delete;

    /// The slot for which `same` returns true, which it must not for a free one; null if there is none.
    template <class Same>
    Slot* find(std::uint64_t hash, const Same& same) const noexcept {
        const Slots in(slots_.load(std::memory_order_acquire));
        for (std::size_t at = in.home(hash);; ++at) {
            Slot& slot = in.at(at);
            if (same(slot))
                return &slot;
            if (slot.free())
                return nullptr;
        }
    }

    /// The slot where a search for `hash` begins, and in a sparse table mostly ends. For launches, where find()
    /// would cost four instructions more.
    const Slot& home(std::uint64_t hash) const noexcept {
        const Slots in(slots_.load(std::memory_order_acquire));
        return in.first[in.home(hash)];
    }

    /// A slot for an entry that find() has not found, to be filled in at once; null without memory.
    Slot* add(std::uint64_t hash) noexcept {
        Slots in(slots_.load(std::memory_order_relaxed));
        if ((used_ + 1) * room >= in.count() &&
            !enlarge(in)) // the two slots before the first entry must stay free
            return nullptr;
        Slot& slot = vacant(in, hash);
        used_ += slot.free();
        return &slot;
    }

    /// Number of slots that are not free, gone ones included.
    std::size_t used() const noexcept { return used_; }

    /// All slots, free ones included. Under the lock if another thread may add.
    std::span<Slot> slots() const noexcept {
        const Slots in(slots_.load(std::memory_order_relaxed));
        return {in.first, in.count()};
    }

    /// Frees gone slots that no search has to pass: those before a free one.
    template <class Free>
    void sweep(const Free& make_free) noexcept {
        const std::span<Slot> all = slots();
        for (std::size_t i = 2 * all.size(); i-- > 0;) { // twice round: the last may be followed by the first
            Slot& slot = all[i % all.size()];
            if (!slot.gone() || !all[(i + 1) % all.size()].free())
                continue;
            make_free(slot);
            --used_;
        }
    }

private:
    /// Address and number of the slots in one word, so that a reader gets both of the same table. Slots are
    /// aligned to cache lines, which leaves six bits.
    struct Slots {
        Slot* first;
        unsigned shift; ///< of a hash, to the number of a slot

        explicit Slots(const char* word) noexcept
            : first(reinterpret_cast<Slot*>(reinterpret_cast<std::uintptr_t>(word) & ~std::uintptr_t{63})),
              shift(reinterpret_cast<std::uintptr_t>(word) & 63) {}
        const char* word() const noexcept { return reinterpret_cast<const char*>(first) + shift; }
        std::size_t count() const noexcept { return std::size_t{1} << (64 - shift); }
        std::size_t home(std::uint64_t hash) const noexcept { return hash >> shift; }
        Slot& at(std::size_t number) const noexcept { return first[number & (count() - 1)]; }
    };

    static bool gone(const Slot& slot) noexcept {
        if constexpr (requires { slot.gone(); })
            return slot.gone();
        return false;
    }

    static Slot& vacant(Slots in, std::uint64_t hash) noexcept {
        std::size_t at = in.home(hash);
        while (!in.at(at).free() && !gone(in.at(at)))
            ++at;
        return in.at(at);
    }

    /// Doubles the slots, if those in use need it.
    bool enlarge(Slots& in) noexcept {
        const std::span<Slot> old = slots();
        const auto in_use = [](const Slot& slot) { return !slot.free() && !gone(slot); };
        const auto live = static_cast<std::size_t>(std::count_if(old.begin(), old.end(), in_use));
        const std::size_t count = std::max(std::size_t{1024}, std::bit_ceil(live * room * 2));
        auto* const first = static_cast<Slot*>(map_pages(count * sizeof(Slot)));
        if (first == nullptr)
            return false;
        const bool mapped = slots_.load(std::memory_order_relaxed) != none + 63;
        in = Slots(reinterpret_cast<const char*>(first) + std::countl_zero(count) + 1);
        for (const Slot& slot : old)
            if (in_use(slot))
                std::memcpy(static_cast<void*>(&vacant(in, slot.hash())), static_cast<const void*>(&slot),
                            sizeof slot);
        used_ = live;
        slots_.store(in.word(), std::memory_order_release);
        if (searched == Searched::under_the_lock && mapped)
            unmap_pages(old.data(), old.size_bytes());
        return true;
    }

    /// Two slots that stay free: the table before the first entry.
    alignas(64) static constinit inline char none[std::max(std::size_t{64}, 2 * sizeof(Slot))] = {};

    std::atomic<const char*> slots_{none + 63};
    std::size_t used_ = 0;
};

} // namespace umadvisor::base
