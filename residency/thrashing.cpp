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
        } else if (page.seen && page.count >= parameters.threshold && !pinned(now)[index]) {
            page = Page();
            thrashing_.reset(index);
            continue;
        }
        page.seen = true;
        page.last = now;
    }
    thrashing_ |= found;
    return found;
}

Nanoseconds BlockThrashing::throttle(const ThrashingParameters& parameters, Processor who,
                                     const PageMask& faulting, Nanoseconds now) {
    const PageMask affected = faulting & thrashing_ & ~pinned(now);
    Nanoseconds longest = 0;
    for (unsigned index = 0; affected.any() && index < pages_per_block; ++index) {
        if (affected[index]) {
            longest = std::max(longest, throttle_page(parameters, who, index, now));
        }
    }
    return longest;
}

Nanoseconds BlockThrashing::throttle_page(const ThrashingParameters& parameters, Processor who, unsigned index,
                                          Nanoseconds now) {
    Page& page = (*pages_)[index];
    if (page.waiting & set_of(who)) {
        if (now < page.nap_ends && page.free != who) {
            return page.nap_ends - now;
        }
        page.waiting &= ~set_of(who);
        if (page.waiting == 0) {
            page.nap_ends = 0;
        }
    }
    if (gap(page.last, now) > parameters.lapse) {
        return 0; // it has come to rest
    }
    if (now > page.nap_ends) {
        page.nap_ends = now + parameters.nap;
        page.free = static_cast<std::uint8_t>(page.free == who ? no_processor : who);
    } else if (page.free == no_processor) {
        page.free = static_cast<std::uint8_t>(who);
    }
    if (page.free != who) {
        page.waiting |= set_of(who);
        ++page.throttlings;
        return page.nap_ends - now;
    }
    if (page.throttlings >= parameters.pin_threshold) {
        pin(parameters, index, now);
    }
    return 0;
}

void BlockThrashing::pin(const ThrashingParameters& parameters, unsigned index, Nanoseconds now) {
    Page& page = (*pages_)[index];
    page.throttlings = 0;
    page.waiting = 0;
    page.nap_ends = 0;
    pinned_ = pinned(now);
    pinned_.set(index);
    pinned_until_ = now + parameters.pin;
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
