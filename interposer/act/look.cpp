#include "interposer/act/prefetch.hpp"

#include "interposer/record/off_stack.hpp"

#include <algorithm>

namespace umadvisor::act {

namespace {

using observe::Look;
using observe::LookRange;
using observe::Looks;
using observe::ResidencySampler;

LookRange both(LookRange one, LookRange other) {
    if (one.empty() || other.empty())
        return one.empty() ? other : one;
    return {std::min(one.first, other.first), std::max(one.last, other.last)};
}

void sample(ResidencySampler& sampler, Looks& looks) {
    const bool prefetches = modes::prefetch.is_on();
    looks.visit = prefetches ? &prefetching_sees : nullptr;
    looks.content = modes::relieve.is_on();
    for (Look& look : looks) {
        if (prefetches)
            look.range = prefetching_looks(*look.allocation, looks.occasion);
        if (looks.content)
            look.range = both(look.range, relief_looks(*look.allocation, looks.occasion));
        look.brought = prefetches && was_brought(*look.allocation);
    }
    sampler.make(looks);
    for (const Look& look : looks)
        if (look.came_back)
            relief_sees(*look.allocation, look.content);
}

void look_at(ResidencySampler& sampler, const observe::Touched& touched) {
    const ResidencySampler::Turn turn(sampler);
    const record::OffStack<Looks> looks;
    if (turn && sampler.choose_before_launch(touched, *looks))
        sample(sampler, *looks);
}

void look_after_wait(const Wait&) noexcept {
    ResidencySampler& sampler = observe::residency_sampler();
    if (!sampler.waits())
        return;
    const ResidencySampler::Turn turn(sampler);
    const record::OffStack<Looks> looks;
    if (turn && sampler.choose_after_synchronize(*looks))
        sample(sampler, *looks);
}

} // namespace

void look_before_launch(const observe::Touched& touched) noexcept {
    ResidencySampler& sampler = observe::residency_sampler();
    if (touched.managed_count != 0)
        return look_at(sampler, touched);
    if (touched.scanned || observe::allocations().managed_count() == 0)
        return;
    const record::OffStack<observe::Touched> all;
    if (sampler.list_all(*all))
        look_at(sampler, *all);
}

constinit Action looking{
    .name = "look",
    .start =
        [](const runtime::Options& options, const DeviceCount&) noexcept {
            return options.asks(trace::ActMode::prefetch) || options.asks(trace::ActMode::relieve);
        },
    .before_launch = [](LaunchScope& launch) noexcept { look_before_launch(launch.touched); },
    .after_wait = &look_after_wait,
};

} // namespace umadvisor::act
