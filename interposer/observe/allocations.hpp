/// Every live allocation that the program made through CUDA, by address.
#pragma once

#include "interposer/base/seqlock.hpp"
#include "interposer/record/bounds.hpp"
#include "interposer/record/mutex.hpp"
#include "trace/values.hpp"

#include <atomic>
#include <cstddef>
#include <cstdint>

namespace umadvisor::observe {

/// Without default values, which every launch would write to the 64 of them in its Touched.
struct Allocation {
    std::uint64_t id; ///< of its Alloc record
    std::uint64_t address, bytes;
    trace::Memory memory;
    std::uint32_t device;  ///< ordinal of the device it was made for
    bool rewritten;        ///< the program asked for device memory and was given managed memory
    std::uint16_t context; ///< number of the context or device that it is freed with (contexts.hpp); 0: none
    bool readable;         ///< the host can read it at full speed and without side effects
    bool fills_card;       ///< device memory of the program's own: act/ counts it
    bool pooled;           ///< rewritten, and from a pool
    bool kept_on_device;   ///< rewritten, and kept on its device: launches need no look at its residency
    bool holds_pointers;   ///< device memory that the program has copied addresses of managed memory to
};

/// Address -> allocation. Allocations do not overlap: one that a new one covers was freed unseen (with its
/// context, say) and is dropped. Changes lock, look-ups do not: leaves of sorted allocations below a sorted
/// directory, all of it atomics under a seqlock, so a reader retries during a change.
class AllocationIndex {
public:
    constexpr AllocationIndex() noexcept = default;
    AllocationIndex(const AllocationIndex&) = delete;
    AllocationIndex& operator=(const AllocationIndex&) = delete;

    /// Ids start at 1.
    std::uint64_t next_id() noexcept { return next_id_.fetch_add(1, std::memory_order_relaxed); }

    /// Returns how many it covers, the first `capacity` of which are copied to `covered`.
    std::size_t insert(const Allocation& allocation, Allocation* covered = nullptr,
                       std::size_t capacity = 0) noexcept;

    /// Removes the allocation that starts at `address`. False, and `out` untouched, where none does.
    bool erase(std::uint64_t address, Allocation& out) noexcept;

    /// Removes all that has this id: levels of a mipmapped array have handles of their own.
    void erase_all(std::uint64_t id) noexcept;

    /// Removes up to `capacity` allocations that start in [first, last), or that are freed with `context`, and
    /// copies them to `out`. Returns how many; fewer than `capacity`: none are left.
    std::size_t remove_range(std::uint64_t first, std::uint64_t last, Allocation* out,
                             std::size_t capacity) noexcept;
    std::size_t remove_context(std::uint16_t context, Allocation* out, std::size_t capacity) noexcept;

    /// The allocation that holds `address`. Takes no lock unless changes keep it from reading; safe from
    /// any thread.
    bool find(std::uint64_t address, Allocation& out) const noexcept {
        return may_hold(address) && search(address, out);
    }

    /// Whether any allocation has a byte in [first, last).
    bool overlaps(std::uint64_t first, std::uint64_t last) const noexcept;

    /// False for most words that are no addresses. Costs two loads.
    bool may_hold(std::uint64_t address) const noexcept {
        return address >= low_.load(std::memory_order_relaxed) &&
               address < high_.load(std::memory_order_relaxed);
    }

    /// Changes with each insert and erase, and whenever launches have to be scanned again.
    std::uint64_t generation() const noexcept { return changes_.version() / 2; }

    /// The addresses that may_hold(), for many words: those that are less than `span` after `low`.
    struct Extent {
        std::uint64_t low, span;
        /// `word`, or 0 if it can be no address in the index. Branchless, since branch prediction cannot guess
        /// which words are addresses.
        std::uint64_t only(std::uint64_t word) const noexcept {
            return word & (0 - static_cast<std::uint64_t>(word - low < span));
        }
    };
    /// For an index that was always empty: the very last byte of memory, which no allocation has.
    Extent extent() const noexcept {
        const std::uint64_t low = low_.load(std::memory_order_relaxed);
        return {low, high_.load(std::memory_order_relaxed) - low};
    }

    /// Words in [low, high) count as addresses from now on, whatever the index holds, so launches that differ
    /// in such words are scanned.
    void widen(std::uint64_t low, std::uint64_t high) noexcept;

    std::size_t count() const noexcept { return count_.load(std::memory_order_relaxed); }
    std::size_t managed_count() const noexcept { return managed_count_.load(std::memory_order_relaxed); }
    /// Of all allocations of this kind together.
    std::uint64_t bytes_of(trace::Memory memory) const noexcept {
        return bytes_[static_cast<std::size_t>(memory) % kinds].load(std::memory_order_relaxed);
    }

    /// Launches have to be scanned again, as if something had been allocated.
    void renew() noexcept { widen(~std::uint64_t{0}, 0); }

    /// Whether the rewritten allocation that starts at `address` is kept on its device.
    void set_kept_on_device(std::uint64_t address, bool kept) noexcept;
    /// The allocation that starts at `address` holds pointers to managed memory from now on.
    void set_holds_pointers(std::uint64_t address) noexcept;

    /// Calls `visit(allocation)` for each managed allocation in the order of addresses, under the lock: `visit`
    /// must not change the index nor call the driver.
    template <class Visit>
    void for_each_managed(Visit&& visit) noexcept {
        visit_managed([](void* to, const Allocation& allocation) { (*static_cast<Visit*>(to))(allocation); },
                      &visit);
    }

private:
    static constexpr std::size_t leaf_capacity = 64;
    static constexpr std::size_t max_leaves =
        record::most(record::Bound::live_allocations) / (leaf_capacity / 2);

    using Word = std::atomic<std::uint64_t>;
    /// Column by column: a search touches starts only.
    struct Leaf {
        Word count;
        Word address[leaf_capacity], bytes[leaf_capacity], id[leaf_capacity];
        Word kind[leaf_capacity]; ///< all else, packed
    };
    struct Position {
        std::size_t directory, slot;
    };
    struct Change;

    bool search(std::uint64_t address, Allocation& out) const noexcept;
    /// The last allocation that starts at `address` or before it.
    bool nearest(std::uint64_t address, Allocation& out) const noexcept;
    bool nearest_once(std::uint64_t address, Allocation& out) const noexcept;
    bool prepare() noexcept;
    Position position_of(std::uint64_t address) const noexcept;
    Allocation read(Position at) const noexcept;
    void put(Position at, const Allocation& allocation) noexcept;
    void remove(Position at) noexcept;
    std::size_t remove_overlapped(std::uint64_t first, std::uint64_t last, Allocation* out,
                                  std::size_t capacity) noexcept;
    bool split(std::size_t directory) noexcept;
    void set_bit(std::uint64_t address, std::uint64_t bit, bool on) noexcept;
    void visit_managed(void (*visit)(void*, const Allocation&), void* to) noexcept;
    Leaf& leaf(std::size_t directory) const noexcept {
        return leaves_.load(std::memory_order_acquire)[leaf_of_[directory].load(std::memory_order_acquire)];
    }

    // What every launch reads, in one line of the cache.
    alignas(64) base::SeqLock changes_;
    Word low_{~0ull}, high_{0};
    Word next_id_{1};
    Word leaf_count_{0};
    std::atomic<std::size_t> count_{0}, managed_count_{0};
    static constexpr std::size_t kinds = 8; ///< of memory
    Word bytes_[kinds]{};
    std::atomic<Leaf*> leaves_{nullptr};
    Word* first_of_ = nullptr; ///< first address of each leaf, in order; written before leaves_
    Word* leaf_of_ = nullptr;
    std::uint64_t free_leaves_ = 0; ///< head of a list through Leaf::id[0]; number + 1
    std::uint64_t used_leaves_ = 0;
    mutable record::Mutex mutex_{record::Lock::allocations};
};

namespace detail {
extern constinit AllocationIndex allocation_index;
}

/// The index of this process.
inline AllocationIndex& allocations() noexcept {
    return detail::allocation_index;
}

/// CUDA arrays by their handles, with ids of allocations(). They are in an index of their own, because a handle
/// is an address in the driver's heap, which the program may have registered.
AllocationIndex& arrays() noexcept;

} // namespace umadvisor::observe
