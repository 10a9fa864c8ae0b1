/// Samples where the pages of managed memory are, from the host's page table.
#pragma once

#include "interposer/observe/budget.hpp"
#include "interposer/observe/host_content.hpp"
#include "interposer/observe/pagemap.hpp"
#include "interposer/observe/touched.hpp"
#include "interposer/observe/try_lock.hpp"
#include "trace/event_records.hpp"

#include <cstdint>
#include <optional>

namespace umadvisor::observe {

/// What a look is made for.
struct LookOccasion {
    trace::SampleMoment moment;
    std::uint64_t host_faults; ///< before a launch: page faults of the process so far. Without new ones the
                               ///< host has fetched nothing
};

/// The part of an allocation that a look covers; [0, 0): nothing.
struct LookRange {
    std::uint64_t first, last;
    bool empty() const noexcept { return first >= last; }
    static LookRange of(const Allocation& allocation) noexcept {
        return {allocation.address, allocation.address + allocation.bytes};
    }
};

/// Called first with the range of an allocation that is looked at (`host` false): earlier knowledge of it is
/// void. Then called for each range in it that the host has mapped (`host` true).
using LookVisit = void (*)(const Allocation& allocation, LookRange range, bool host) noexcept;

/// An allocation that may be looked at. A look takes 0.35 us a MiB, or 3 us a MiB if the host has the pages,
/// and it delays a launch or the program's thread.
struct Look {
    const Allocation* allocation;
    LookRange range; ///< chosen by the caller
    bool brought;    ///< set by the caller after a wait: it was prefetched from the device to the host
    // What the look found:
    bool came_back;        ///< the host has pages again that it had not after the last wait
    std::uint64_t content; ///< their hash, as in the Residency record
};

/// The allocations that a launch or a wait gives occasion to look at. Large, and uninitialised beyond the
/// count.
struct Looks {
    static constexpr std::uint32_t most = 256;
    LookOccasion occasion;
    LookVisit visit = nullptr; ///< null if the number of pages is enough
    bool content = true;       ///< whether to hash what came back
    std::uint32_t count = 0;
    Look all[most];

    Look* begin() noexcept { return all; }
    Look* end() noexcept { return all + count; }
    void add(const Allocation& allocation, LookRange range) noexcept {
        if (count != most)
            all[count++] = {&allocation, range, false, false, 0};
    }
};

/// Pages of a managed range that are on the device have no host mapping, which the present bit of pagemap
/// shows. Sampling takes at most 1% of the process's run time after a first allowance; a thread that comes
/// while another one samples does not. The file is opened for each sample: a descriptor that is kept would be
/// the parent's after fork, and the program could close it and reuse its number.
class ResidencySampler {
public:
    constexpr ResidencySampler() noexcept = default;

    // For the trace. A program under --act is to be fast, so it is sampled only where an action needs it.

    /// Samples the managed memory that a launch is about to reach, or a bounded part of all managed memory if
    /// its parameters could not be scanned, as on drivers before CUDA 12.4. A branch or two without managed
    /// memory.
    void before_launch(const Touched& touched) noexcept {
        if (touched.managed_count != 0)
            look_before_launch(touched);
        else if (!touched.scanned && allocations().managed_count() != 0)
            look_at_all();
    }

    /// Samples what launches have reached since the last synchronisation.
    void after_synchronize() noexcept {
        if (waits())
            look_after_synchronize();
    }

    /// Samples managed memory that the program is about to prefetch to a device, or to free. With the driver's
    /// queue only before the first launch, for the content that the host initialised.
    ///
    /// Memory that a prefetch may still be moving is not read: pagemap shows its pages on the host until they
    /// have moved, and reading one would migrate it back.
    void before_prefetch(const Allocation& allocation) noexcept {
        look_alone(allocation, trace::SampleMoment::before_prefetch);
        note_prefetched(allocation);
    }
    void before_free(const Allocation& allocation) noexcept {
        look_alone(allocation, trace::SampleMoment::before_free);
    }

    /// Whether host touches can be seen at all.
    bool works() const noexcept;

    /// Whether host touches are seen by these looks only.
    bool alone() const noexcept;

    /// From now on actions look, and not the sampler by itself.
    void leave_looks_to_actions() noexcept { left_.store(true, std::memory_order_relaxed); }

    // For actions. They get every look that they ask for, within the allowance.

    /// Holds the sampler, unless another thread has it.
    class Turn : public TryLock::Attempt {
    public:
        explicit Turn(ResidencySampler& sampler) noexcept : Attempt(sampler.lock_) {}
    };
    /// With the turn: fills in the allocations to look at for the launch, or after the wait. False: there are
    /// none.
    bool choose_before_launch(const Touched& touched, Looks& looks, bool acting = true) noexcept;
    bool choose_after_synchronize(Looks& looks, bool acting = true) noexcept;
    /// With the turn: looks at the ranges that are not empty.
    void make(Looks& looks) noexcept;
    /// Whether there is anything to choose after a wait. Two loads.
    bool waits() const noexcept {
        return waiting_.load(std::memory_order_relaxed) != 0 || looked_alone_.load(std::memory_order_relaxed);
    }
    /// Lists what a launch may reach whose parameters could not be scanned. False if that was listed a moment
    /// ago.
    bool list_all(Touched& all) noexcept;

    /// Nanoseconds of the first allowance; tests give none or much.
    void set_allowance(std::uint64_t nanoseconds) noexcept { budget_.set_allowance(nanoseconds); }

private:
    static constexpr std::uint32_t max_pending = 256;
    static constexpr std::uint32_t max_steady = 512; ///< four for each allocation
    static constexpr std::uint32_t max_prefetched = 128;
    struct Seen;

    /// What launches have reached since the last synchronisation.
    struct Pending {
        Allocation allocation;
        std::uint64_t looked; ///< nanoseconds of the run
    };

    /// What the last sample of an allocation showed, so that steady ones are looked at less often when time is
    /// short.
    struct Steady {
        std::uint64_t key, host_pages, pages;
        std::uint64_t activity; ///< of ManagedWatch, before the sample
        std::uint64_t looked;   ///< nanoseconds of the run
        std::uint64_t round;
        std::uint32_t skip, interval;
        bool brought; ///< it was prefetched to the host after the launch; set after synchronisations only
    };

    void look_before_launch(const Touched& touched) noexcept;
    void look_at_all() noexcept;
    void look_after_synchronize() noexcept;
    bool actions_look() const noexcept;
    void look_alone(const Allocation& allocation, trace::SampleMoment moment) noexcept;
    bool affordable(std::uint64_t now) noexcept;
    bool hurried() const noexcept;
    void agree_on_scan(const Allocation& allocation) noexcept;
    void read_content(trace::Residency& record, const MappedRuns& runs, const Looks& looks,
                      Look& look) noexcept;
    Pagemap* ready(std::optional<Pagemap>& pagemap) noexcept;
    void check_scan(Pagemap& pagemap, std::uint64_t first, std::uint64_t last) noexcept;
    bool sample(std::optional<Pagemap>& pagemap, const Looks& looks, Look& look,
                std::uint64_t& modelled) noexcept;
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
    std::atomic<bool> left_{false};               ///< to actions that were started late
    std::atomic<bool> looked_alone_{false};       ///< since the last synchronisation
    Budget budget_{10'000'000};
    std::atomic<bool> off_{false};
    std::atomic<std::uint64_t> round_{0};                        ///< synchronisations after launches or looks
    std::atomic<std::uint64_t> prefetched_[max_prefetched] = {}; ///< to a device: allocation and round

    TryLock lock_;         ///< guards what follows
    bool checked_ = false; ///< whether PAGEMAP_SCAN was compared with the entries
    bool scan_agrees_ = true;
    unsigned early_checks_ = 0;
    std::uint64_t spent_ = 0; ///< nanoseconds that threads worked
    Pending pending_[max_pending] = {};
    Steady steady_[max_steady] = {};
    HostContent content_;
};

ResidencySampler& residency_sampler() noexcept;

} // namespace umadvisor::observe
