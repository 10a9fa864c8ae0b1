#include "analyzer/timeline/clock.hpp"

#include "analyzer/timeline/doubt.hpp"

#include <algorithm>
#include <cmath>
#include <span>
#include <utility>

namespace umadvisor::timeline {
namespace {

using facts::Queues;
using facts::Waits;

/// The events around measured work take time, too: this adds to the doubt.
double with_events(double doubt, double expected_ns) {
    return doubt < doubt_of_fitted && expected_ns > 0 ? std::min(well_known, doubt + event_ns / expected_ns)
                                                      : doubt;
}

bool same_place(const facts::Call& one, const facts::Call& other) {
    return one.stream.number == other.stream.number && one.event == other.event &&
           one.stream.device == other.stream.device;
}

} // namespace

void Clock::Usual::add(double ns) {
    const double step = std::max(1.0 / static_cast<double>(++count), share_of_latest);
    // The first of a kind often includes page faults or the loading of code: it does not count.
    if (count == 2 && ns < mean) {
        mean = ns;
        return;
    }
    const double off = ns - mean;
    mean += step * off;
    variance = (1 - step) * (variance + step * off * off);
}

double Clock::Usual::spread() const {
    if (count < 3)
        return doubt_of_one_alike;
    return mean > 0 ? std::clamp(std::sqrt(variance) / mean, least_doubt_of_alike, most_doubt_of_alike)
                    : doubt_of_one_alike;
}

void Clock::Group::add(double ns, bool is_measured) {
    usual.add(ns);
    if (is_measured)
        measured.add(ns);
    doubt = with_events(std::max(measured.count != 0 ? 0 : doubt_of_fitted, usual.spread()), usual.mean);
}

Clock::Clock(Observer observer, const std::vector<Edit>& edits, bool hidden)
    : observer_(std::move(observer)), replays_(edits), hides_(hidden) {}

const Clock::Group* Clock::measured_in(std::uint32_t group) const {
    return group < groups_.size() && groups_[group].measured.count != 0 ? &groups_[group] : nullptr;
}

/// Work of its own group; or work of the same kernel, if that takes as long wherever it is launched, or if the
/// group has few durations derived from waits.
const Clock::Group* Clock::known_of(const facts::Call& call) const {
    constexpr std::uint64_t few = 3;
    const Group& group = groups_[call.group];
    if (group.measured.count != 0)
        return &group;
    const Group* const kin = measured_in(call.kin);
    const bool told = group.usual.count != 0;
    if (kin != nullptr && (!told || group.usual.count < few || kin->usual.spread() < doubt_of_one_alike))
        return kin;
    return told ? &group : nullptr;
}

/// What was measured in the whole run.
const Clock::Group* Clock::told_of(const facts::Call& call) const {
    if (earlier_ == nullptr)
        return nullptr;
    const Group* const group = earlier_->measured_in(call.group);
    return group != nullptr ? group : earlier_->measured_in(call.kin);
}

/// What is expected of the work that is not fixed yet, by all that is known by now.
void Clock::expect() {
    places_.clear();
    unknown_ = {};
    // A wait that is one for sure shows more of the work that it waited for.
    const bool unsure = !window_.empty() && !window_.back().call.surely_waits;
    double most = 0;
    for (Pending& pending : window_) {
        const facts::Call& call = pending.call;
        if (places_.empty() || !same_place(*places_.back(), call))
            places_.push_back(&call);
        if (pending.fixed)
            continue;
        pending.submit_ns = call.waits == Waits::itself ? 0 : latency_ * share_before;
        const Group* group = known_of(call);
        if (group == nullptr && unsure)
            group = told_of(call);
        const bool alike = group != nullptr && call.doubt > doubt_of_measured;
        pending.expected_ns = alike ? group->usual.mean : call.expected_ns;
        pending.doubt = alike ? group->doubt : with_events(call.doubt, call.expected_ns);
        unknown_ = {unknown_.count + 1, &pending, std::max(unknown_.most_doubt, pending.doubt)};
        most = std::max(most, pending.expected_ns * pending.doubt * pending.doubt);
    }
    // The likeliest durations, by least squares: what is long or doubtful takes most of what is to be
    // explained.
    for (Pending& pending : window_)
        if (!pending.fixed)
            pending.weight = most > 0 ? pending.expected_ns * pending.doubt * pending.doubt / most : 1;
}

void Clock::add(const facts::Call& call) {
    resolve();
    base_.prepare(call);
    trial_.prepare(call);
    if (const std::size_t last = std::max(call.group, call.kin); last >= groups_.size())
        groups_.resize(last + 1);
    Pending& pending = window_.add(call);
    pending.fixed = call.queues != Queues::work;
    if (call.thread >= ends_.size())
        ends_.resize(call.thread + 1);
    double& end = ends_[call.thread];
    // A call within another, as the copies of a batch are, takes none of its time twice.
    pending.call.start = std::max(call.start, end);
    pending.call.duration = std::max(0.0, call.start + call.duration - pending.call.start);
    pending.gap_ns = pending.call.start - end;
    end = pending.call.start + pending.call.duration;
    pending.own_ns = pending.call.duration;
    if (call.queues == Queues::record)
        pending.submit_ns = latency_ * share_before;
    if (call.sample != 0 && call.group != 0) {
        awaited_.add(call.sample, call.group);
        groups_[call.group].kin = call.kin;
    }
    unresolved_ = call.waits != Waits::nothing;
    if (window_.size() >= window) {
        resolve();
        expect();
        keep(1, false, HUGE_VAL);
        settle(window_.size());
    }
}

void Clock::measured(std::uint64_t sample, double ns) {
    if (const auto group = awaited_.take(sample)) {
        groups_[*group].add(ns, true);
        if (const std::uint32_t kin = groups_[*group].kin; kin != 0)
            groups_[kin].add(ns, true);
    }
    for (auto pending = window_.end(); pending != window_.begin();)
        if ((--pending)->call.sample == sample && pending->call.queues == Queues::work) {
            pending->call.expected_ns = ns;
            pending->call.doubt = doubt_of_measured;
            break;
        }
}

/// When the work ends that the last call of the window waited for, with the durations that `factor` gives.
Growing Clock::simulate(double factor, bool all_alike) {
    for (const facts::Call* const place : places_)
        trial_.take(base_, *place);
    Growing done;
    for (Pending& pending : window_) {
        const facts::Call& call = pending.call;
        if (call.queues == Queues::work) {
            Growing length{pending.device_ns, 0};
            if (!pending.fixed) {
                const double slope = pending.expected_ns * (all_alike ? 1 : pending.weight);
                length = {pending.expected_ns + (factor - 1) * slope, slope};
            }
            const Growing ready = trial_.ready(call, Growing{call.start + pending.submit_ns, 0});
            done = ready + length;
            trial_.queue(call, done);
            pending.begin = ready.at;
            pending.end = done.at;
        } else if (call.queues == Queues::record) {
            trial_.record(call, Growing{call.start + pending.submit_ns, 0});
        } else if (call.queues == Queues::join) {
            trial_.join(call, trial_.event(call.event));
        }
    }
    const facts::Call& last = window_.back().call;
    return last.waits == Waits::itself ? done : trial_.awaited(last);
}

/// Finds the factor with which the wait's work ends at `target`: its end is a convex, growing, piecewise linear
/// function of the factor, so that Newton's steps come from the right and do not pass it. `end`: when it ends
/// with what is expected.
Growing Clock::solve(Growing end, double target, double& factor, bool& all_alike) {
    const double most = unknown_.most_doubt > well_known ? 1e12 : 1 + most_growth;
    for (int step = 0; step < 40 && std::abs(end.at - target) > exact; ++step) {
        double next = end.slope > 0 ? factor - (end.at - target) / end.slope : (end.at < target ? most : -1);
        if (next < 0 && !all_alike) { // even what was measured took less
            all_alike = true;
            factor = 1;
            end = simulate(factor, all_alike);
            continue;
        }
        next = std::clamp(next, 0.0, most);
        if (next == factor)
            break;
        factor = next;
        end = simulate(factor, all_alike);
    }
    return end;
}

/// Fixes the durations of work that has ended by `until`.
void Clock::keep(double factor, bool all_alike, double until, bool known) {
    for (Pending& pending : window_) {
        if (pending.fixed || pending.end > until)
            continue;
        pending.device_ns = fitted(pending, factor, all_alike);
        pending.fixed = true;
        if (known && pending.call.group != 0 && pending.call.doubt > doubt_of_measured)
            groups_[pending.call.group].add(pending.device_ns, false);
    }
}

void Clock::learn(const Pending& last, double end) {
    const Pending* const work = unknown_.last;
    if (unknown_.count != 1 || work->call.group == 0 || work->call.sample != 0 ||
        last.call.waits == Waits::itself || work->call.engine != facts::Engine::none)
        return;
    const Group* const group = known_of(work->call);
    if (group == nullptr || group->measured.count < 2 || latencies_.size() >= 256)
        return;
    latencies_.push_back(end - work->call.start - group->measured.mean);
    if (latencies_.size() < 8 || (latencies_.size() & (latencies_.size() - 1)) != 0)
        return;
    std::vector<double> sorted = latencies_;
    std::ranges::nth_element(sorted, sorted.begin() + static_cast<std::ptrdiff_t>(sorted.size() / 4));
    latency_ = std::clamp(sorted[sorted.size() / 4], least_latency, most_latency);
}

/// A wait's own time, such as that of freeing memory, shows where all work is known to have ended.
void Clock::learn_own(Site& site, double ns) const {
    const double most = unknown_.count != 0 ? site.own_ns : site.own_ns == 0 ? ns : site.own_ns * growth_of_own;
    site.own_ns = std::min(most, ns);
}

/// For a call that has work of its own to do: nothing is known of what ran before it, and it took very long.
bool Clock::must_have_waited(const facts::Call& call, double least) const {
    return call.duration >= 10 * std::max(least, usual_free_ns) && unknown_.most_doubt > 1;
}

void Clock::fit(Pending& last) {
    const facts::Call& call = last.call;
    const double end = call.start + call.duration;
    const bool itself = call.waits == Waits::itself;
    const double usual_wake = latency_ * (1 - share_before);
    Site& site = sites_[call.site];
    if (site.number == SIZE_MAX)
        site.number = sites_.map().size() - 1;
    const double own = std::max(call.least_ns, site.own_ns), least = std::min(call.duration, own);
    // A free does its own work after the wait.
    const double wake = itself ? 0 : std::min(call.duration, call.surely_waits ? usual_wake : own);
    double factor = 1;
    bool all_alike = false;
    Growing done = simulate(factor, all_alike);
    const bool hidden = hides_ && !itself && site.seen++ != 0 && (site.seen + site.number) % 2 != 0;
    const bool blocked =
        itself || (call.surely_waits ? call.duration > 2 * least + clearly_ns : must_have_waited(call, least));
    if (hidden && call.surely_waits) {
        const double predicted = std::max(call.start + own, done.at + usual_wake);
        accuracy_.error_ns += std::abs(predicted - end);
        accuracy_.hidden_ns += call.duration;
        ++accuracy_.hidden;
        keep(1, false, HUGE_VAL);
        last.wake_ns = usual_wake;
        return;
    }
    if (blocked || done.at > end) {
        if (blocked && !itself)
            learn(last, end);
        const double target = blocked ? end - wake : end;
        done = solve(done, target, factor, all_alike);
    }
    if (!itself && call.surely_waits)
        learn_own(site, call.duration);
    // Work that had ended when the call began did not block it: the time is the call's own.
    const bool explained = itself || !blocked || done.at > call.start;
    if (itself) // the copy itself may have taken what its own call took, no longer
        last.waited_ns = std::clamp(last.begin - call.start - last.submit_ns, 0.0, call.duration);
    else if (blocked)
        last.waited_ns = explained ? std::clamp(call.duration - least, 0.0, call.duration) : 0;
    else if (!call.surely_waits)
        last.waited_ns = std::clamp(done.at - call.start, 0.0, call.duration);
    last.own_ns = itself ? least : call.duration - last.waited_ns;
    const double late = std::max(0.0, done.at - end);
    last.wake_ns = !blocked && !call.surely_waits ? last.own_ns // its own work comes after the wait
                   : blocked && explained         ? end - done.at + late
                                                  : std::min(usual_wake, std::max(0.0, end - done.at));
    last.late_ns = done.at > end + exact ? done.at - end : 0;
    const bool unknown = !hides_ && unknown_.most_doubt > well_known;
    if (unknown) {
        // A very long free with nothing known before it counts as a wait, which is not certain.
        const bool guessed = blocked && !call.surely_waits && !itself;
        const double spared = call.surely_waits ? last.wake_ns : least;
        bound(blocked && !guessed ? done.at : end - spared, blocked && !guessed, factor, all_alike);
    }
    keep(factor, all_alike, std::max(done.at, end) + exact, blocked);
    if (unknown && !call.surely_waits && !itself)
        bound_free(last);
}

/// Settles what the latest wait decides. Samples of the work that it waited for have come meanwhile.
void Clock::resolve() {
    if (!std::exchange(unresolved_, false))
        return;
    expect();
    fit(window_.back());
    std::size_t count = 0;
    for (const Pending& pending : window_) {
        if (!pending.fixed)
            break;
        ++count;
    }
    settle(count);
}

void Clock::settle(std::size_t count) {
    for (Pending& pending : std::span(window_.begin(), count)) {
        const facts::Call& call = pending.call;
        if (call.queues == Queues::work)
            pending.end = base_.ready(call, call.start + pending.submit_ns) + pending.device_ns;
        if (!replays_.empty())
            replays_.settle(pending, base_);
        if (call.queues == Queues::work) {
            base_.queue(call, pending.end);
        } else if (call.queues == Queues::record) {
            base_.record(call, call.start + pending.submit_ns);
        } else if (call.queues == Queues::join) {
            base_.join(call, base_.event(call.event));
        }
        if (pending.late_ns > 0)
            base_.limit(call, call.start + call.duration);
        if (observer_)
            observer_({call, pending.waited_ns, pending.device_ns, pending.end});
    }
    window_.drop(count);
}

void Clock::finish() {
    resolve();
    if (window_.empty())
        return;
    expect();
    keep(1, false, HUGE_VAL);
    settle(window_.size());
}

std::vector<Gain> Clock::gains(double run_end) const {
    return replays_.gains(base_.end(), run_end);
}

} // namespace umadvisor::timeline
