/// One call of a run, replayed with each edit.
#include "analyzer/timeline/replays.hpp"

#include <algorithm>
#include <utility>

namespace umadvisor::timeline {
namespace {

using What = Change::What;

bool waits_for_itself(const facts::Call& call) {
    return call.waits == facts::Waits::itself;
}

/// The call as it would be in a stream that does not synchronise with the legacy default stream.
facts::Call in_own_stream(facts::Call call) {
    call.stream.legacy = call.stream.blocking = false;
    return call;
}

/// Copies from `others` the lanes that are marked in `taken`.
void take(Times& times, const Times& others, std::span<const bool> taken) {
    for (std::size_t lane = 0; lane < taken.size(); ++lane)
        if (taken[lane])
            times.at[lane] = others.at[lane];
}

} // namespace

Times Replays::Lanes::done(const facts::Call& call, const Times& told, const Times& device,
                           std::span<const bool> own) {
    Times ready = state.ready(call, told);
    if (!own.empty())
        take(ready, state.ready(in_own_stream(call), told), own);
    if (!call.wide)
        return ready + device;
    if (call.stream.device >= wide.size())
        wide.resize(call.stream.device + 1);
    Times& last = wide[call.stream.device];
    const Times done = later(ready, last) + device;
    take(last, done, apart);
    return done;
}

void Replays::Lanes::queue(const facts::Call& call, const Times& done, std::span<const bool> own) {
    if (own.empty()) {
        state.queue(call, done);
        return;
    }
    Times in_order = done;
    take(in_order, Times{}, own);
    state.queue(call, in_order);
    state.queue(in_own_stream(call), done);
}

/// A remedy that spares a free takes away all the time that the free is assumed to have needed itself.
double Replays::share_of_free(const Lanes& lanes, std::size_t lane, const Pending& pending) {
    if (!lanes.assumes || !pending.undecided || pending.call.queues != facts::Queues::nothing ||
        lanes.assumed[lane] == Assumed::likely || pending.own_ns <= 0)
        return 1;
    return (lanes.assumed[lane] == Assumed::short_work ? pending.short_work : pending.long_work).own_ns /
           pending.own_ns;
}

Replays::Left Replays::shorten(const Pending& pending, const Change& change, double share) {
    const facts::Call& call = pending.call;
    Left left{pending.device_ns, pending.own_ns, pending.wake_ns};
    const double less_ns = share * change.less_ns + change.less_ns_per_byte * static_cast<double>(call.bytes) +
                           change.less_share * pending.device_ns;
    if (call.queues == facts::Queues::nothing) {
        left.own_ns -= less_ns; // it may be more than that, for the call that undoes it
        left.wake_ns -= less_ns;
        return left;
    }
    left.device_ns = std::max(0.0, left.device_ns - less_ns);
    if (call.staged) // device and host do it at the same time
        left.own_ns = std::max(std::min(left.own_ns, call.least_ns), left.own_ns - less_ns);
    else if (waits_for_itself(call))
        left.own_ns = std::max(0.0, left.own_ns - (less_ns - (pending.device_ns - left.device_ns)));
    return left;
}

void Replays::assume(const Lanes& lanes, const Pending& pending, Times& device, Times& own, Times& wake) {
    for (std::size_t lane = 0; lane < Times::count; ++lane) {
        if (lanes.assumed[lane] == Assumed::likely)
            continue;
        const Pending::Split& split =
            lanes.assumed[lane] == Assumed::short_work ? pending.short_work : pending.long_work;
        if (pending.call.queues == facts::Queues::work) {
            device.at[lane] = split.device_ns;
        } else { // a free
            own.at[lane] += split.own_ns - pending.own_ns;
            wake.at[lane] = split.own_ns;
        }
    }
}

/// Removes the time that an edit takes off the thread's own time before a call.
void Replays::relieve(const Relief& relief, double gap_ns, std::size_t first_replay, Times& start) {
    for (std::size_t lane = 0; lane < Times::count; ++lane)
        if (relief.is_due(lane)) {
            gains_[first_replay + lane].edited_ns += relief.share[lane] * gap_ns;
            start.at[lane] -= relief.share[lane] * gap_ns;
        }
}

/// How `call` changes the thread's own time behind it.
void Replays::relieve_next(Relief& relief, const facts::Call& call, std::span<const Deed> deeds,
                           std::size_t first_replay) {
    if (facts::launches(call) && relief.waited)
        relief = {};
    for (const Deed& deed : deeds)
        if (deed.change.less_after_share > 0) {
            const std::size_t lane = deed.replay - first_replay;
            relief.share[lane] = std::max(relief.share[lane], deed.change.less_after_share);
            relief.at_once[lane] = deed.change.at_once;
        }
    relief.waited |= call.waits != facts::Waits::nothing;
}

void Replays::step(Lanes& lanes, const Pending& pending, const Unheld& unheld, bool follows,
                   std::span<const Deed> deeds, std::size_t first_replay) {
    const facts::Call& call = pending.call;
    ++lanes.steps;
    lanes.waited = call.waits != facts::Waits::nothing;
    lanes.state.prepare(call);
    Times& host = lanes.hosts[call.thread];
    Times start = host;
    if (unheld.behind_full)
        start = later(start, lanes.rooms[call.thread] - unheld.early_ns);
    start = follows ? Times(call.start) - lanes.shift : start + unheld.gap_ns;
    if (call.thread < lanes.owed.size())
        start = later(start, std::exchange(lanes.owed[call.thread], Times()));
    if (lanes.relieves) {
        lanes.reliefs.resize(lanes.hosts.size());
        Relief& relief = lanes.reliefs[call.thread];
        if (!follows) // else the thread waited for another
            relieve(relief, unheld.gap_ns, first_replay, start);
        relieve_next(relief, call, deeds, first_replay);
    }
    Times device(pending.device_ns), own(unheld.own_ns), wake(pending.wake_ns);
    if (lanes.assumes && pending.undecided)
        assume(lanes, pending, device, own, wake);
    std::array<bool, Times::count> own_stream{};
    std::span<const bool> in_own_stream; ///< empty: in none
    for (const Deed& deed : deeds) {
        const std::size_t lane = deed.replay - first_replay;
        const Change& change = deed.change;
        Gain& gain = gains_[deed.replay];
        const double added_ns = (deed.first ? change.added_ns : 0) + change.added_each_ns;
        gain.added_ns += added_ns;
        start.at[lane] += added_ns;
        if (change.less_before_ns > 0 && !follows) { // else the thread waited for another, not for itself
            const double less_ns = std::min(change.less_before_ns, unheld.gap_ns);
            gain.edited_ns += less_ns;
            start.at[lane] -= less_ns;
        }
        if (change.what == What::shorter) {
            const Left left = shorten(pending, change, share_of_free(lanes, lane, pending));
            const double device_ns = pending.device_ns - left.device_ns, host_ns = pending.own_ns - left.own_ns;
            gain.edited_ns += call.staged ? std::max(device_ns, host_ns) : std::max(device_ns + host_ns, 0.0);
            device.at[lane] = std::max(0.0, device.at[lane] - device_ns);
            own.at[lane] -= host_ns;
            wake.at[lane] -= pending.wake_ns - left.wake_ns;
        } else if (change.what == What::own_stream) { // it takes no less itself
            own_stream[lane] = true;
            in_own_stream = own_stream;
        } else {
            if (change.what == What::asynchronous && waits_for_itself(call))
                device.at[lane] = std::max(0.0, pending.device_ns - change.less_ns);
            gain.edited_ns += change.what == What::asynchronous || call.queues == facts::Queues::nothing
                                  ? call.duration
                                  : std::max(pending.device_ns, call.duration - pending.waited_ns);
        }
    }
    // Calls that an edit removes affect nothing.
    const auto without_gone = [&](Times& times, const auto& instead) {
        for (const Deed& deed : deeds)
            if (deed.change.what == What::gone)
                times.at[deed.replay - first_replay] = instead(deed.replay - first_replay);
    };
    const auto never = [](std::size_t) { return 0.0; };
    Times end = start + own, done = end;
    if (call.queues == facts::Queues::work) {
        Queue<Times>* const queue = queue_of(lanes.queues, call);
        if (queue != nullptr && unheld.waits_later) {
            lanes.rooms[call.thread] = room(lanes, *queue, call, unheld.length);
            end = later(end, lanes.rooms[call.thread] - unheld.later_ns);
        } else if (queue != nullptr) {
            end = later(end, room(lanes, *queue, call, unheld.length) + own);
        }
        done = lanes.done(call, later(start + pending.submit_ns, end - own), device, in_own_stream);
        without_gone(done, never);
        lanes.queue(call, done, in_own_stream);
        if (queue != nullptr)
            queue->push(done);
    } else if (call.queues == facts::Queues::record) {
        const Times before = lanes.state.event(call.event);
        lanes.state.record(call, start + pending.submit_ns);
        without_gone(lanes.state.event(call.event), [&](std::size_t lane) { return before.at[lane]; });
    } else if (call.queues == facts::Queues::join) {
        Times event = lanes.state.event(call.event);
        without_gone(event, never);
        lanes.state.join(call, event);
    }
    if (pending.late_ns > 0 && !waits_for_itself(call)) {
        Times until = lanes.state.awaited(call) - pending.late_ns;
        without_gone(until, [](std::size_t) { return HUGE_VAL; });
        lanes.state.limit(call, until);
    }
    const Times called = end;
    if (call.waits != facts::Waits::nothing) {
        Times awaited = later(end, (waits_for_itself(call) ? done : lanes.state.awaited(call)) + wake);
        for (const Deed& deed : deeds)
            if (deed.change.what == What::asynchronous) {
                const std::size_t lane = deed.replay - first_replay;
                if (deed.change.data_needed && lanes.assumed[lane] == Assumed::long_work) {
                    lanes.owed.resize(lanes.hosts.size());
                    lanes.owed[call.thread].at[lane] = awaited.at[lane];
                }
                awaited.at[lane] = end.at[lane];
            }
        end = awaited;
    }
    without_gone(end, [&](std::size_t lane) { return start.at[lane]; });
    host = end;
    if (watched_ / Times::count == first_replay / Times::count && call.thread < spared_.threads.size()) {
        const std::size_t lane = watched_ - first_replay;
        const double until = waits_for_itself(call) ? done.at[lane] - device.at[lane] : end.at[lane];
        const double since = waits_for_itself(call) ? start.at[lane] + pending.submit_ns : called.at[lane];
        double added_ns = 0;
        for (const Deed& deed : deeds)
            if (deed.replay == watched_)
                added_ns += (deed.first ? deed.change.added_ns : 0) + deed.change.added_each_ns;
        spare(pending,
              {start.at[lane], end.at[lane],
               std::clamp(until - since, 0.0, std::max(0.0, end.at[lane] - start.at[lane])), added_ns});
    }
}

void Replays::spare(const Pending& pending, const Became& became) {
    const facts::Call& call = pending.call;
    Spared::Thread& thread = spared_.threads[call.thread];
    const double begin = threads_[call.thread].end, end = call.start + call.duration;
    if (thread.stretches.empty() || thread.stretches.back().end - thread.stretches.back().begin >= stretch_ns_)
        thread.stretches.push_back({begin, end});
    Spared::Stretch& stretch = thread.stretches.back();
    const double waits_ns = pending.waited_ns - became.waited_ns;
    const double own_ns = call.duration - (became.end - became.start) - waits_ns;
    stretch.end = end;
    stretch.code_ns += call.start - became.start + became.added_ns - thread.shift_ns;
    stretch.waits_ns += waits_ns;
    if (waits_for_itself(call))
        stretch.copies_ns += own_ns;
    thread.own_ns[call.site.entry] += own_ns;
    thread.added_ns += became.added_ns;
    thread.shift_ns = end - became.end;
}

Spared Replays::spared(double device_end, double run_end) const {
    Spared spared = spared_;
    spared.last_thread = last_thread_;
    if (watched_ < gains_.size() && last_thread_ < spared.threads.size())
        spared.tail_ns = gains(device_end, run_end)[watched_].saved_ns - spared.threads[last_thread_].shift_ns;
    return spared;
}

std::vector<Gain> Replays::gains(double device_end, double run_end) const {
    std::vector<Gain> gains = gains_;
    const double end = std::max(latest_end_, device_end);
    const double behind_ns = std::max(0.0, run_end - latest_end_);
    const auto due_ns = [this, behind_ns](const Lanes& lanes, std::size_t lane) {
        const bool is_due = last_thread_ < lanes.reliefs.size() && lanes.reliefs[last_thread_].is_due(lane);
        return is_due ? lanes.reliefs[last_thread_].share[lane] * behind_ns : 0;
    };
    for (std::size_t replay = 0; replay < gains.size(); ++replay) {
        const Lanes& lanes = lanes_[replay / Times::count];
        const std::size_t lane = replay % Times::count;
        const double shift = lanes.shift.at[lane];
        gains[replay].saved_ns =
            lanes.in_step ? shift : end - std::max(latest_end_ - shift, lanes.state.end().at[lane]);
        gains[replay].saved_ns += due_ns(lanes, lane);
        gains[replay].edited_ns += due_ns(lanes, lane);
    }
    return gains;
}

} // namespace umadvisor::timeline
