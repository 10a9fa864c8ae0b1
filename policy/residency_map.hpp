/// Where the blocks of managed allocations are, as far as we know.
#pragma once

#include "policy/prefetch_plan.hpp"
#include "policy/rewrite_policy.hpp"
#include "residency/prices.hpp"

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <span>

namespace umadvisor::policy {

/// Whether launches use what is brought for them.
///
/// What is brought cannot be seen to be used. So now and then one block of an allocation is left to faults: if
/// nobody has come for it by the end of the launches, three times running, the allocation is left to faults
/// itself, and brought again after a while. Plain data of one allocation.
class UsageTrial {
public:
    /// Something of the allocation is missing. False: it is left to faults.
    bool worth_bringing() noexcept;
    bool given_up() const noexcept { return given_up_at_ != 0; }
    /// Whether it was given up since this was last asked.
    bool just_given_up() noexcept;

    /// Whether a block is to be left out this time. Sooner where room is short: there nothing may be wasted.
    bool due(bool crowded) const noexcept;
    bool under_way() const noexcept { return left_out_ != 0; }
    /// While it is: the block that was left out.
    std::size_t block() const noexcept { return left_out_ - 1; }

    /// `block` is left to the faults of a launch on `stream`.
    void begin(std::size_t block, std::uint64_t stream) noexcept;
    /// Blocks [from, until) leave the device by our own doing: nobody can tell any more.
    void cancel(std::size_t from, std::size_t until) noexcept;

    /// The allocation's pages are being looked at; the host has blocks [from, until).
    void look() noexcept { looked_ = true; }
    void on_host(std::size_t from, std::size_t until) noexcept { unused_ = unused_ || covers(from, until); }

    /// The program has waited for `stream`, or for everything; what was looked at was so after that.
    void end(bool everything, std::uint64_t stream) noexcept;

private:
    bool covers(std::size_t from, std::size_t until) const noexcept {
        return left_out_ > from && left_out_ <= until;
    }
    void judge() noexcept;

    unsigned asked_ = 0;       ///< times that something was missing
    unsigned next_ = 0;        ///< time of the next trial; 0: the first
    unsigned misses_ = 0;      ///< running
    unsigned given_up_at_ = 0; ///< time; 0: it is not
    std::size_t left_out_ = 0; ///< number + 1
    std::uint64_t stream_ = 0;
    bool looked_ = false, unused_ = false, told_ = false;
};

/// Not thread-safe: its owner's lock covers it. Memory for an allocation's blocks is taken at its first sight
/// and given back by forget(). Without memory an allocation stays unknown, and nothing is planned for it.
class ResidencyMap {
public:
    constexpr ResidencyMap() noexcept = default;
    ResidencyMap(const ResidencyMap&) = delete;
    ResidencyMap& operator=(const ResidencyMap&) = delete;

    /// The allocation's blocks; at first sight all unknown. False without memory.
    bool see(std::uint64_t allocation, std::uint64_t address, std::uint64_t bytes, ResidencyView& out) noexcept;

    enum class Wanted : std::uint8_t {
        here,
        elsewhere_too, ///< by block it is left to faults: launches of several devices want it
                       ///< (DeviceTurns)
        now_here_too,  ///< the same, since just now
        placed,        ///< the same, and the program has said of a part where it is to be
    };
    /// A launch on the device, or the program's prefetch to it, wants the allocation.
    Wanted wanted_on(std::uint64_t allocation, std::uint32_t device) noexcept;

    /// Whether a launch on the device misses no block of the allocation. False for one never seen.
    bool resident(std::uint64_t allocation, std::uint32_t device) const noexcept;

    /// Whether all blocks that [first, last) cuts are known to be on the host, or are left where they are.
    bool on_host(std::uint64_t allocation, std::uint64_t first, std::uint64_t last) const noexcept;

    /// Whether the host cannot have taken anything of the allocation since worth_a_look(): the process has had
    /// no page fault since. As good as a look that shows nothing.
    bool untouched(std::uint64_t allocation, std::uint64_t host_faults) noexcept;

    struct Part {
        std::uint64_t first = 0, last = 0; ///< equal: nothing
    };
    /// Where a look at the page table before a launch saves more than it takes: nowhere while nothing is on the
    /// device, which is prefetched whatever is seen; and where few faults could have taken little of much,
    /// where the last look found something.
    Part worth_a_look(std::uint64_t allocation, std::uint64_t host_faults) noexcept;

    /// Whether a block is left to the faults of launches that are under way.
    bool on_trial(std::uint64_t allocation) const noexcept;
    /// Address of the block that is left to a launch's faults; 0: none.
    std::uint64_t tried_block(std::uint64_t allocation) const noexcept;

    /// What a launch reaches is on the device once it has run: missing blocks, in order, while the device holds
    /// no more than `capacity` bytes.
    void launched(std::uint64_t allocation, std::uint64_t capacity) noexcept;

    /// The device cannot hold all that launches reach. From now on nothing on it becomes unknown again: what is
    /// prefetched to no purpose would push out what is wanted.
    void crowd() noexcept { crowded_.store(true, std::memory_order_relaxed); }
    /// Needs no lock.
    bool crowded() const noexcept { return crowded_.load(std::memory_order_relaxed); }

    /// Something of the allocation is missing for a launch on `stream`. False: launches use little of it, so it
    /// is left to faults. Now and then one missing block is taken for present, to see whether they come for it.
    bool worth_bringing(std::uint64_t allocation, std::uint64_t stream) noexcept;

    /// Whether the allocation was found to be hardly used since this was last asked.
    bool just_given_up(std::uint64_t allocation) noexcept;

    /// [first, last) is about to be brought to the host to make room.
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

    /// [first, last) is on one side, as a prefetch or a look at the page table tells: every block that it cuts.
    void moved(std::uint64_t allocation, std::uint64_t first, std::uint64_t last, BlockState to) noexcept;

    /// [first, last) is to be left where the program wants it, or not any more.
    void leave_alone(std::uint64_t allocation, std::uint64_t first, std::uint64_t last, bool alone) noexcept;

    /// The program has waited for the device and may touch anything from now on. What bounces between host and
    /// device, and everything where host touches cannot be `seen`, counts as unknown from its next see() on
    /// unless it was looked at in between: a prefetch of what is resident costs 0.9 us a block, a missed one a
    /// fault batch.
    /// What it has waited for is `stream`, or everything.
    void synchronized(bool seen, bool everything, std::uint64_t stream) noexcept;

    /// [first, last) is being looked at: blocks that lie in it completely and were thought to be on the host
    /// may have left it. What the host has mapped is told by moved(host) next.
    void looking(std::uint64_t allocation, std::uint64_t first, std::uint64_t last) noexcept;

    /// The look that worth_a_look() asked for has found [first, last) on the host.
    void found_on_host(std::uint64_t allocation, std::uint64_t first, std::uint64_t last) noexcept;

    void forget(std::uint64_t allocation) noexcept;

    /// Forgets everything and gives its memory back.
    void clear() noexcept;

    /// Never 0; another one once something that was on the device may not be any more.
    std::uint64_t epoch() const noexcept { return epoch_; }

    /// Another number once the program has waited for the device.
    std::uint64_t synchronizations() const noexcept { return synchronizations_; }

    /// Bytes known to be on the device.
    std::uint64_t device_bytes(std::uint32_t device) const noexcept {
        return device < max_devices ? device_bytes_[device] : 0;
    }

private:
    struct Known {
        std::uint64_t allocation, address, bytes;
        std::uint32_t device; ///< that wants it, or one of these
        bool placed;          ///< in part, by the program, before several devices wanted it
        BlockState* blocks;
        std::size_t count;
        std::size_t missing, on_device; ///< blocks
        std::uint64_t looked_at; ///< synchronisation it was last looked at after, or known to be untouched
        std::uint64_t faults;    ///< of the host, that looks have explained
        std::uint64_t asked_at;  ///< faults, when a look was last asked for
        Part found;              ///< by the last look that found anything
        bool found_is_old;       ///< nothing was found since a look was last asked for
        std::uint8_t idle_looks; ///< at all of it, that found nothing, running
        unsigned bounces;        ///< more than 0: it came back from the device lately
        UsageTrial trial;
        std::uint64_t last_use; ///< number of a launch
    };

    static constexpr std::uint32_t no_device = max_devices, several_devices = max_devices + 1;

    Known* find(std::uint64_t allocation) const noexcept;
    static std::uint64_t bytes_of(const Known& known, std::size_t block) noexcept;
    void set(Known& known, std::size_t block, BlockState state) noexcept;
    /// Numbers of the blocks that [first, last) cuts.
    struct Cut {
        std::size_t from, until;
    };
    /// Whether what was on the device may have left it unseen.
    bool doubtful(const Known& known) const noexcept {
        return known.looked_at != synchronizations_ && (known.bounces != 0 || blind_) && !crowded();
    }
    static constexpr std::size_t least_tried = 8; ///< blocks
    /// A look at so many takes as long as a fault of the host for what the device has.
    static constexpr std::size_t looks_of_a_fault =
        residency::Prices{}.host_fault / residency::decision_prices.look_block;
    static constexpr std::uint8_t most_idle_looks = 6;
    static constexpr unsigned bounce_memory = 8; ///< looks
    static Cut cut(const Known& known, std::uint64_t first, std::uint64_t last) noexcept;

    Known* known_ = nullptr; ///< in the order of ids
    std::size_t count_ = 0, capacity_ = 0;
    std::uint64_t device_bytes_[several_devices + 1] = {}; ///< the last two: of none, and of several
    std::uint64_t synchronizations_ = 0;
    std::uint64_t epoch_ = 1;
    std::uint64_t launches_ = 0;
    bool blind_ = false;
    std::atomic<bool> crowded_{false};
    bool trials_ = false; ///< one may be under way
};

} // namespace umadvisor::policy
