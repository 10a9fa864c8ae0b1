/// Where the blocks of managed allocations are, as far as is known.
#pragma once

#include "policy/prefetch_plan.hpp"
#include "policy/rewrite_policy.hpp"
#include "residency/prices.hpp"

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <span>

namespace umadvisor::policy {

/// Whether launches use what is prefetched for them.
///
/// Whether a launch uses prefetched memory cannot be seen. So one block of an allocation is left to faults now
/// and then: if no launch has faulted on it in three trials in a row, the whole allocation is left to faults,
/// and prefetched again after a while.
class UsageTrial {
public:
    /// Blocks of the allocation are missing. False: they are left to faults.
    bool worth_bringing() noexcept;
    bool given_up() const noexcept { return given_up_at_ != 0; }
    /// Whether it was given up since the last call.
    bool just_given_up() noexcept;

    /// Whether a block is to be left out this time. Trials come sooner where the device is full.
    bool due(bool crowded) const noexcept;
    bool under_way() const noexcept { return left_out_ != 0; }
    /// The block that was left out, while under_way().
    std::size_t block() const noexcept { return left_out_ - 1; }

    /// `block` is left to the faults of a launch on `stream`.
    void begin(std::size_t block, std::uint64_t stream) noexcept;
    /// Blocks [from, until) are evicted by us, so a trial with one of them shows nothing.
    void cancel(std::size_t from, std::size_t until) noexcept;

    /// The allocation's pages are sampled now; on_host() follows for the blocks that the host has.
    void look() noexcept { looked_ = true; }
    void on_host(std::size_t from, std::size_t until) noexcept { unused_ = unused_ || covers(from, until); }

    /// The program has waited for `stream`, or for everything, before look() and on_host().
    void end(bool everything, std::uint64_t stream) noexcept;

private:
    bool covers(std::size_t from, std::size_t until) const noexcept {
        return left_out_ > from && left_out_ <= until;
    }
    void judge() noexcept;

    unsigned asked_ = 0;       ///< times that blocks were missing
    unsigned next_ = 0;        ///< value of asked_ at the next trial; 0: no trial yet
    unsigned misses_ = 0;      ///< in a row
    unsigned given_up_at_ = 0; ///< value of asked_; 0: not given up
    std::size_t left_out_ = 0; ///< number + 1
    std::uint64_t stream_ = 0;
    bool looked_ = false, unused_ = false, reported_ = false;
};

/// Not thread-safe: the owner's lock covers it. Memory for an allocation's blocks is allocated by the first
/// see() and freed by forget(). Without memory an allocation stays unknown, and nothing is planned for it.
class ResidencyMap {
public:
    constexpr ResidencyMap() noexcept = default;
    ResidencyMap(const ResidencyMap&) = delete;
    ResidencyMap& operator=(const ResidencyMap&) = delete;

    /// The allocation's blocks, all unknown at first. False without memory.
    bool see(std::uint64_t allocation, std::uint64_t address, std::uint64_t bytes, ResidencyView& out) noexcept;

    /// Which devices use an allocation. One that several use is not prefetched by block (see DeviceTurns).
    enum class Users : std::uint8_t {
        this_device,
        several,
        several_since_now, ///< this call found the second one
        several_advised,   ///< and the program has advised where a part is to be
    };
    /// A launch on the device, or the program's prefetch to it, uses the allocation.
    Users note_user(std::uint64_t allocation, std::uint32_t device) noexcept;

    /// Whether a launch on the device misses no block of the allocation. False for an unknown allocation.
    bool resident(std::uint64_t allocation, std::uint32_t device) const noexcept;

    /// Whether all blocks that overlap [first, last) are known to be on the host, or are left alone.
    bool on_host(std::uint64_t allocation, std::uint64_t first, std::uint64_t last) const noexcept;

    /// Whether the host cannot have fetched any of the allocation since worth_a_look(), because the process has
    /// had no page fault since. True counts as a look that found nothing.
    bool untouched(std::uint64_t allocation, std::uint64_t host_faults) noexcept;

    struct Part {
        std::uint64_t first = 0, last = 0; ///< equal: nothing
    };
    /// The part for which a look at the page table before a launch saves more than it takes. It is empty while
    /// nothing is on the device, since then all is prefetched whatever a look shows. If few faults have
    /// happened since the last look, and the allocation is large, it is the part where a look last found
    /// something.
    Part worth_a_look(std::uint64_t allocation, std::uint64_t host_faults) noexcept;

    /// Whether a UsageTrial of the allocation is under way.
    bool on_trial(std::uint64_t allocation) const noexcept;
    /// Address of the block that the trial leaves to faults; 0: none.
    std::uint64_t tried_block(std::uint64_t allocation) const noexcept;

    /// A launch reaches the allocation: its missing blocks, in order, are on the device once it has run, as
    /// long as the device holds no more than `capacity` bytes.
    void launched(std::uint64_t allocation, std::uint64_t capacity) noexcept;

    /// The device cannot hold all that launches reach. From now on no block on it becomes unknown again: a
    /// needless prefetch would evict blocks in use.
    void crowd() noexcept { crowded_.store(true, std::memory_order_relaxed); }
    /// Needs no lock.
    bool crowded() const noexcept { return crowded_.load(std::memory_order_relaxed); }

    /// Blocks of the allocation are missing for a launch on `stream`. False: launches use little of it, so they
    /// are left to faults. Now and then this begins a UsageTrial: one missing block is marked as present.
    bool worth_bringing(std::uint64_t allocation, std::uint64_t stream) noexcept;

    /// Whether the allocation was found to be hardly used since the last call.
    bool just_given_up(std::uint64_t allocation) noexcept;

    /// [first, last) is about to be prefetched to the host to make room.
    void evicted(std::uint64_t allocation, std::uint64_t first, std::uint64_t last) noexcept;

    /// Calls `visit(view, last_use)` for each allocation with blocks on the device; `last_use` grows with
    /// launched().
    template <class Visit>
    void for_each_resident(std::uint32_t device, Visit&& visit) const noexcept {
        for (std::size_t i = 0; i < count_; ++i)
            if (const Known& known = known_[i]; known.on_device != 0 && known.device == device)
                visit(ResidencyView{known.allocation, known.address, known.bytes, {known.blocks, known.count}},
                      known.last_use);
    }
    std::size_t count() const noexcept { return count_; }

    /// A prefetch or a look at the page table shows where [first, last) is. Sets every block that it overlaps.
    void moved(std::uint64_t allocation, std::uint64_t first, std::uint64_t last, BlockState to) noexcept;

    /// [first, last) is to be left where the program has advised it to be; `alone` false ends that.
    void leave_alone(std::uint64_t allocation, std::uint64_t first, std::uint64_t last, bool alone) noexcept;

    /// The program has waited for `stream` or for everything, and may touch any managed memory from now on.
    /// Allocations that bounce between host and device count as unknown from their next see() on, unless a look
    /// comes in between; where host touches cannot be `seen`, all do. For a prefetch of a resident block costs
    /// 0.9 us, and a prefetch that was not made costs a fault batch.
    void synchronized(bool seen, bool everything, std::uint64_t stream) noexcept;

    /// [first, last) is sampled now: blocks that lie in it completely and were thought to be on the host become
    /// unknown. moved(host) follows for what the host has mapped.
    void looking(std::uint64_t allocation, std::uint64_t first, std::uint64_t last) noexcept;

    /// The look that worth_a_look() asked for found [first, last) on the host.
    void found_on_host(std::uint64_t allocation, std::uint64_t first, std::uint64_t last) noexcept;

    void forget(std::uint64_t allocation) noexcept;

    /// Forgets everything and gives its memory back.
    void clear() noexcept;

    /// Never 0; changes when a block that was on the device may have left it.
    std::uint64_t epoch() const noexcept { return epoch_; }

    /// Changes when the program has waited for the device.
    std::uint64_t synchronizations() const noexcept { return synchronizations_; }

    /// Bytes known to be on the device.
    std::uint64_t device_bytes(std::uint32_t device) const noexcept {
        return device < max_devices ? device_bytes_[device] : 0;
    }

private:
    struct Known {
        std::uint64_t allocation, address, bytes;
        std::uint32_t device; ///< that uses it, no_device, or several_devices
        bool advised;         ///< the program had advised on a part before several devices used it
        BlockState* blocks;
        std::size_t count;
        std::size_t missing, on_device; ///< blocks
        std::uint64_t looked_at; ///< synchronisation it was last looked at after, or known to be untouched
        std::uint64_t faults;    ///< of the host, up to the last look that covered them
        std::uint64_t asked_at;  ///< faults of the host at the last worth_a_look()
        Part found;              ///< by the last look that found anything
        bool found_is_old;       ///< nothing was found since the last worth_a_look()
        std::uint8_t idle_looks; ///< looks at all of it in a row that found nothing
        unsigned bounces;        ///< more than 0: it migrated back from the device lately
        UsageTrial trial;
        std::uint64_t last_use; ///< number of a launch
    };

    static constexpr std::uint32_t no_device = max_devices, several_devices = max_devices + 1;

    Known* find(std::uint64_t allocation) const noexcept;
    static std::uint64_t bytes_of(const Known& known, std::size_t block) noexcept;
    void set(Known& known, std::size_t block, BlockState state) noexcept;
    /// Numbers of the blocks that [first, last) overlaps.
    struct Overlap {
        std::size_t from, until;
    };
    /// Whether blocks may have left the device unseen.
    bool doubtful(const Known& known) const noexcept {
        return known.looked_at != synchronizations_ && (known.bounces != 0 || blind_) && !crowded();
    }
    static constexpr std::size_t least_tried = 8; ///< blocks
    /// Blocks that a look samples in the time that a fault of the host takes.
    static constexpr std::size_t looks_of_a_fault =
        residency::Prices{}.host_fault / residency::decision_prices.look_block;
    static constexpr std::uint8_t most_idle_looks = 6;
    static constexpr unsigned bounce_memory = 8; ///< looks
    static Overlap overlap(const Known& known, std::uint64_t first, std::uint64_t last) noexcept;

    Known* known_ = nullptr; ///< in the order of ids
    std::size_t count_ = 0, capacity_ = 0;
    std::uint64_t device_bytes_[several_devices + 1] = {}; ///< the last two: no_device, several_devices
    std::uint64_t synchronizations_ = 0;
    std::uint64_t epoch_ = 1;
    std::uint64_t launches_ = 0;
    bool blind_ = false;
    std::atomic<bool> crowded_{false};
    bool trials_ = false; ///< one may be under way
};

} // namespace umadvisor::policy
