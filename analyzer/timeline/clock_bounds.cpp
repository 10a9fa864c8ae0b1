/// The shortest and the longest time that work may have needed.
#include "analyzer/timeline/clock.hpp"
#include "analyzer/timeline/doubt.hpp"

#include <algorithm>

namespace umadvisor::timeline {

using facts::Queues;
using facts::Waits;

/// Work that a wait did not find running, and work that had ended long before what a wait found running began,
/// may have been shorter, or longer by as much as its stream was idle behind it: the host was the slower one.
void Clock::bound(double until, bool blocked, double factor, bool all_alike) {
    nexts_.assign(nexts_.size(), {until, !blocked});
    for (auto at = window_.end(); at != window_.begin();) {
        Pending& pending = *--at;
        const facts::Call& call = pending.call;
        if (call.queues != Queues::work)
            continue;
        if (call.stream.number >= nexts_.size())
            nexts_.resize(call.stream.number + 1, {until, !blocked});
        Next& next = nexts_[call.stream.number];
        const double idle_ns = std::max(0.0, next.begin - pending.end);
        next = {pending.begin, next.idle || idle_ns > exact};
        // The length of work that held up a wait is known.
        if (!next.idle || pending.fixed || pending.doubt <= well_known || call.waits == Waits::itself)
            continue;
        const double ns = fitted(pending, factor, all_alike);
        const double least_ns = std::max(facts::least_work_ns, pending.expected_ns * (1 - pending.doubt));
        const double most_ns = pending.doubt > 1
                                   ? ns + idle_ns // nothing is known of it
                                   : std::min(pending.expected_ns * (1 + pending.doubt), ns + idle_ns);
        pending.undecided = true;
        pending.short_work = {std::min(ns, least_ns), pending.own_ns};
        pending.long_work = {std::max(ns, most_ns), pending.own_ns};
        undecided_ns_ += pending.long_work.device_ns - pending.short_work.device_ns;
    }
}

/// When the work ends that the last call of the window waited for, at one end of what is possible.
double Clock::awaited_with(Pending::Split Pending::*split) {
    for (const facts::Call* const place : places_)
        trial_.take(base_, *place);
    for (const Pending& pending : window_) {
        const facts::Call& call = pending.call;
        const Growing told{call.start + pending.submit_ns, 0};
        if (call.queues == Queues::work) {
            const double ns = pending.undecided ? (pending.*split).device_ns : pending.device_ns;
            trial_.queue(call, trial_.ready(call, told) + Growing{ns, 0});
        } else if (call.queues == Queues::record) {
            trial_.record(call, told);
        } else if (call.queues == Queues::join) {
            trial_.join(call, trial_.event(call.event));
        }
    }
    return trial_.awaited(window_.back().call).at;
}

/// How much of the call's time was its own depends on how long the work before it took.
void Clock::bound_free(Pending& last) {
    const facts::Call& call = last.call;
    const auto own_ns = [&](Pending::Split Pending::*split) {
        const double waited_ns = awaited_with(split) - call.start;
        return call.duration - std::clamp(waited_ns, 0.0, std::max(0.0, call.duration - call.least_ns));
    };
    last.short_work = {0, std::max(last.own_ns, own_ns(&Pending::short_work))};
    last.long_work = {0, std::min(last.own_ns, own_ns(&Pending::long_work))};
    last.undecided = last.short_work.own_ns - last.long_work.own_ns > exact;
    undecided_ns_ += last.short_work.own_ns - last.long_work.own_ns;
}

} // namespace umadvisor::timeline
