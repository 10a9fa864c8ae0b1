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

/// Thrash detection of one 2 MiB block. Events are migrations caused by faults; times may not run backwards by
/// more than a caller can bear: a negative gap counts as none.
class BlockThrashing {
public:
    /// Records that `pages` moved to `who`; returns the pages newly found to thrash.
    PageMask record(const ThrashingParameters& parameters, Processor who, const PageMask& pages,
                    Nanoseconds now);

    /// A fault of the block touched thrashing pages: throttles, and after enough throttlings pins them.
    enum class Relief { none, throttle, pin };
    Relief relieve(const ThrashingParameters& parameters, const PageMask& faulting, Nanoseconds now);

    /// Pages that are pinned at `now`, or the empty mask once the pin has run out.
    PageMask pinned(Nanoseconds now) const;
    const PageMask& thrashing() const { return thrashing_; }
    /// That have taken pages of the block since it was last quiet for an epoch.
    ProcessorSet processors() const { return processors_; }

    /// A migration on request (user prefetch) clears the marks of these pages.
    void forget(const PageMask& pages);

private:
    struct Page {
        Nanoseconds last = 0;
        std::uint8_t count = 0;
        bool seen = false;
    };
    using Pages = std::array<Page, pages_per_block>;

    void reset();

    std::unique_ptr<Pages> pages_;
    PageMask thrashing_;
    PageMask pinned_;
    Nanoseconds pinned_until_ = 0;
    Nanoseconds last_ = 0;
    Processor last_processor_ = 0;
    ProcessorSet processors_ = 0;
    unsigned throttlings_ = 0;
    bool seen_ = false;
};

} // namespace umadvisor::residency
