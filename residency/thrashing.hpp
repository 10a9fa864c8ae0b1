#pragma once

#include "residency/geometry.hpp"

#include <array>
#include <memory>

namespace umadvisor::residency {

/// The driver's module parameters uvm_perf_thrashing_* (drivers 515 to 580), times in nanoseconds.
struct ThrashingParameters {
    bool enabled = true;
    unsigned threshold = 3;
    unsigned pin_threshold = 10;
    Nanoseconds lapse = 500'000;
    Nanoseconds nap = 500'000;
    Nanoseconds epoch = 1'000'000'000;
    Nanoseconds pin = 150'000'000;
};

/// Thrash detection of one 2 MiB block. Events are migrations caused by faults. Times should not run backwards:
/// a negative gap counts as none.
class BlockThrashing {
public:
    /// Records that `pages` moved to `who`; returns the pages newly found to thrash.
    PageMask record(const ThrashingParameters& parameters, Processor who, const PageMask& pages,
                    Nanoseconds now);

    /// How long `who` has to wait before its fault on these pages is serviced. Of the processors between which
    /// a page thrashes, one need not wait during a nap, and another one during the next. After enough waits,
    /// the next fault of the one that need not wait pins the page. Called again once the wait is over.
    Nanoseconds throttle(const ThrashingParameters& parameters, Processor who, const PageMask& faulting,
                         Nanoseconds now);

    /// Pages that are pinned at `now`, or the empty mask once the pin has run out.
    PageMask pinned(Nanoseconds now) const;
    const PageMask& thrashing() const { return thrashing_; }
    /// The processors to which pages of the block have migrated since it was last quiet for an epoch.
    ProcessorSet processors() const { return processors_; }

    /// A migration on request (user prefetch) clears the marks of these pages.
    void forget(const PageMask& pages);

private:
    static constexpr Processor no_processor = max_processors;
    struct Page {
        Nanoseconds last = 0;
        Nanoseconds nap_ends = 0;
        ProcessorSet waiting = 0;
        unsigned throttlings = 0;
        std::uint8_t count = 0;
        std::uint8_t free = no_processor; ///< the processor that need not wait
        bool seen = false;
    };
    using Pages = std::array<Page, pages_per_block>;

    Nanoseconds throttle_page(const ThrashingParameters& parameters, Processor who, unsigned index,
                              Nanoseconds now);
    void pin(const ThrashingParameters& parameters, unsigned index, Nanoseconds now);

    void reset();

    std::unique_ptr<Pages> pages_;
    PageMask thrashing_;
    PageMask pinned_;
    Nanoseconds pinned_until_ = 0;
    Nanoseconds last_ = 0;
    Processor last_processor_ = 0;
    ProcessorSet processors_ = 0;
    bool seen_ = false;
};

} // namespace umadvisor::residency
