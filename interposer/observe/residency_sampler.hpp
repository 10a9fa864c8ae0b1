/// Where the pages of managed memory are, seen from the host's page table.
#pragma once

#include "interposer/observe/host_content.hpp"
#include "interposer/observe/pagemap.hpp"
#include "interposer/observe/touched.hpp"
#include "interposer/observe/try_lock.hpp"
#include "trace/event_records.hpp"

#include <cstdint>
#include <optional>

namespace umadvisor::observe {

/// When a look is about to be taken.
struct LookOccasion {
    trace::SampleMoment moment;
    std::uint64_t host_faults; ///< before a launch: page faults of the process so far. As long as there are
                               ///< none, the host takes nothing back
};

/// What of an allocation a look shall go over; [0, 0): nothing.
struct LookRange {
    std::uint64_t first, last;
    bool empty() const noexcept { return first >= last; }
    static LookRange of(const Allocation& allocation) noexcept {
        return {allocation.address, allocation.address + allocation.bytes};
    }
};

/// Is told what of an allocation is being looked at: what was thought to be mapped by the host there may not be
/// any more; and then each range of it that the host has mapped.
using LookVisit = void (*)(const Allocation& allocation, LookRange range, bool host) noexcept;

/// An allocation that may be looked at. A look takes 0.35 us a MiB, 3 us where the host has it, and a launch or
/// the program's host waits for it.
struct Look {
    const Allocation* allocation;
    LookRange range; ///< to be chosen
    bool brought;    ///< to be told after a wait: the host has it because it was brought there, from the device
    // What was seen:
    bool came_back;        ///< the host has pages again that it had not after the last wait
    std::uint64_t content; ///< of them, as in the Residency record
};

/// Those that a launch or a wait is the occasion to look at. Large, and left uninitialised beyond the count.
struct Looks {
    static constexpr std::uint32_t most = 256;
    LookOccasion occasion;
    std::uint64_t begun;       ///< nanoseconds, CLOCK_MONOTONIC
    LookVisit visit = nullptr; ///< null: the number of pages will do
    bool content = true;       ///< wanted of what came back
    std::uint32_t count = 0;
    Look all[most];

    Look* begin() noexcept { return all; }
    Look* end() noexcept { return all + count; }
    void add(const Allocation& allocation, LookRange range) noexcept {
        if (count != most)
            all[count++] = {&allocation, range, false, false, 0};
    }
};

/// Pages of a managed range that are on the device have no host mapping: the present bit of pagemap tells.
/// Samples within 1% of the process's run time after a first allowance; whoever comes while another thread
/// samples goes on without. Opens what it reads for each sample: a descriptor kept would be the parent's after
/// fork and could be closed and reused by the program.
class ResidencySampler {
public:
    constexpr ResidencySampler() noexcept = default;

    // For the trace. A program that is repaired is to be fast: it is looked at for those only who act on it.

    /// What the host holds of the managed memory that a launch is about to reach; of all managed memory (a
    /// bounded part) where its parameters could not be scanned, as on drivers before CUDA 12.4. A branch or two
    /// when that is none.
    void before_launch(const Touched& touched) noexcept {
        if (touched.managed_count != 0)
            look_before_launch(touched);
        else if (!touched.scanned && allocations().managed_count() != 0)
            look_at_all();
    }

    /// The same for what launches have reached since the last synchronisation.
    void after_synchronize() noexcept {
        if (waits())
            look_after_synchronize();
    }

    /// What the host has taken back of managed memory that the program is about to have prefetched to a device,
    /// or to free. Where others tell, as the driver's queue, only before the first launch: what it was filled
    /// with.
    ///
    /// Memory that a prefetch may still be moving is not read: pagemap shows its pages on the host until they
    /// have moved, and reading one would have the driver bring it back.
    void before_prefetch(const Allocation& allocation) noexcept {
        look_alone(allocation, trace::SampleMoment::before_prefetch);
        note_prefetched(allocation);
    }
    void before_free(const Allocation& allocation) noexcept {
        look_alone(allocation, trace::SampleMoment::before_free);
    }

    /// Whether host touches can be seen at all.
    bool works() const noexcept;

    /// Whether they are seen by these looks only.
    bool alone() const noexcept;

    // For those who act. They hear all that they ask for, as far as there is time for it.

    /// Holds the sampler, unless another thread has it.
    class Turn : public TryLock::Attempt {
    public:
        explicit Turn(ResidencySampler& sampler) noexcept : Attempt(sampler.lock_) {}
    };
    /// With the turn: whose look the launch, or the wait, is the occasion for. False: there is none.
    bool choose_before_launch(const Touched& touched, Looks& looks, bool acting = true) noexcept;
    bool choose_after_synchronize(Looks& looks, bool acting = true) noexcept;
    /// With the turn: looks at the ranges that are not empty.
    void take(Looks& looks) noexcept;
    /// Whether there is anything to choose after a wait. Two loads.
    bool waits() const noexcept {
        return waiting_.load(std::memory_order_relaxed) != 0 || looked_alone_.load(std::memory_order_relaxed);
    }
    /// What a launch may reach whose parameters could not be scanned. False: that was looked at a moment ago.
    bool list_all(Touched& all) noexcept;

    /// Nanoseconds of the first allowance; tests give none or much.
    void set_allowance(std::uint64_t nanoseconds) noexcept { allowance_.store(nanoseconds); }

private:
    static constexpr std::uint32_t max_pending = 256;
    static constexpr std::uint32_t max_steady = 512; ///< four for each allocation
    static constexpr std::uint32_t max_prefetched = 128;
    struct Seen;

    /// What launches have reached since the last synchronisation.
    struct Pending {
        Allocation allocation;
        std::uint64_t looked; ///< nanoseconds, CLOCK_MONOTONIC
    };

    /// What the last sample of an allocation showed, so that steady ones are looked at less often when time is
    /// short.
    struct Steady {
        std::uint64_t key, host_pages, pages;
        std::uint64_t activity; ///< of ManagedWatch, before the sample
        std::uint64_t looked;   ///< nanoseconds, CLOCK_MONOTONIC
        std::uint64_t round;
        std::uint32_t skip, interval;
        bool brought; ///< to the host, after the launch; asked after synchronisations only
    };

    void look_before_launch(const Touched& touched) noexcept;
    void look_at_all() noexcept;
    void look_after_synchronize() noexcept;
    void look_alone(const Allocation& allocation, trace::SampleMoment moment) noexcept;
    bool affordable(std::uint64_t now) noexcept;
    bool hurried() const noexcept;
    void agree_on_scan(const Allocation& allocation) noexcept;
    void read_content(trace::Residency& record, const MappedRuns& runs, const Looks& looks,
                      Look& look) noexcept;
    Pagemap* ready(std::optional<Pagemap>& pagemap) noexcept;
    void check_scan(Pagemap& pagemap, std::uint64_t first, std::uint64_t last) noexcept;
    bool sample(std::optional<Pagemap>& pagemap, const Looks& looks, Look& look) noexcept;
    bool repeat(const Looks& looks, const Allocation& allocation, std::uint64_t activity) noexcept;
    bool steady(const Allocation& allocation, trace::SampleMoment moment) noexcept;
    bool just_seen(const Allocation& allocation, trace::SampleMoment moment, std::uint64_t now) const noexcept;
    bool came_back(const Allocation& allocation, std::uint64_t host_pages) const noexcept;
    bool launched(const Allocation& allocation) const noexcept;
    void note_prefetched(const Allocation& allocation) noexcept;
    bool was_prefetched(const Allocation& allocation) const noexcept;
    bool may_be_moving(const Allocation& allocation) const noexcept;
    void remember(const Looks& looks, const Look& look, std::uint64_t pages, std::uint64_t host_pages,
                  std::uint64_t activity) noexcept;

    std::atomic<std::uint32_t> waiting_{0};       ///< entries in pending_
    std::atomic<std::uint64_t> looked_at_all_{0}; ///< nanoseconds; 0: not since the last synchronisation
    std::atomic<bool> looked_alone_{false};       ///< since the last synchronisation
    std::atomic<std::uint64_t> allowance_{10'000'000};
    std::atomic<bool> off_{false};
    std::atomic<std::uint64_t> round_{0};                        ///< synchronisations after launches or looks
    std::atomic<std::uint64_t> prefetched_[max_prefetched] = {}; ///< to a device: allocation and round

    TryLock lock_;         ///< guards what follows
    bool checked_ = false; ///< whether PAGEMAP_SCAN tells what the entries tell
    bool scan_agrees_ = true;
    unsigned early_checks_ = 0;
    std::uint64_t started_ = 0, spent_ = 0; ///< nanoseconds, CLOCK_MONOTONIC
    Pending pending_[max_pending] = {};
    Steady steady_[max_steady] = {};
    HostContent content_;
};

ResidencySampler& residency_sampler() noexcept;

} // namespace umadvisor::observe
