#include "residency/thrashing.hpp"

#include <algorithm>

namespace umadvisor::residency {

namespace {
// The driver counts in three bits and saturates.
constexpr std::uint8_t saturated = 7;

Nanoseconds gap(Nanoseconds earlier, Nanoseconds now) {
    return now > earlier ? now - earlier : 0;
}
} // namespace

void BlockThrashing::reset() {
    *this = BlockThrashing();
}

PageMask BlockThrashing::record(const ThrashingParameters& parameters, Processor who, const PageMask& pages,
                                Nanoseconds now) {
    PageMask found;
    if (!parameters.enabled) {
        return found;
    }
    if (seen_ && gap(last_, now) > parameters.epoch) {
        reset();
    }
    // Page state exists only from the first event that follows, within one lapse, an event of another
    // processor.
    const bool alternates = seen_ && last_processor_ != who && gap(last_, now) <= parameters.lapse;
    seen_ = true;
    last_ = now;
    last_processor_ = who;
    processors_ |= set_of(who);
    if (!pages_) {
        if (!alternates) {
            return found;
        }
        pages_ = std::make_unique<Pages>();
    }
    for (unsigned index = 0; index < pages_per_block; ++index) {
        if (!pages[index]) {
            continue;
        }
        Page& page = (*pages_)[index];
        if (page.seen && gap(page.last, now) <= parameters.lapse) {
            page.count = std::min<std::uint8_t>(page.count + 1, saturated);
            if (page.count == parameters.threshold) {
                found.set(index);
            }
        } else if (page.seen && page.count >= parameters.threshold && !pinned_[index]) {
            page.count = 0;
            thrashing_.reset(index);
        }
        page.seen = true;
        page.last = now;
    }
    thrashing_ |= found;
    return found;
}

BlockThrashing::Relief BlockThrashing::relieve(const ThrashingParameters& parameters, const PageMask& faulting,
                                               Nanoseconds now) {
    const PageMask affected = faulting & thrashing_ & ~pinned(now);
    if (affected.none() || gap(last_, now) > parameters.lapse) {
        return Relief::none;
    }
    if (++throttlings_ <= parameters.pin_threshold) {
        return Relief::throttle;
    }
    throttlings_ = 0;
    pinned_ = thrashing_;
    pinned_until_ = now + parameters.pin;
    return Relief::pin;
}

PageMask BlockThrashing::pinned(Nanoseconds now) const {
    return now < pinned_until_ ? pinned_ : PageMask();
}

void BlockThrashing::forget(const PageMask& pages) {
    thrashing_ &= ~pages;
    pinned_ &= ~pages;
    for (unsigned index = 0; pages_ && index < pages_per_block; ++index) {
        if (pages[index]) {
            (*pages_)[index] = Page();
        }
    }
}

} // namespace umadvisor::residency
