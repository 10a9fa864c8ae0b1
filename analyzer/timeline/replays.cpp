#include "analyzer/timeline/replays.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

namespace umadvisor::timeline {
namespace {

using What = Change::What;

std::uint64_t key_of(const model::CallSite& site) {
    return model::CallSiteHash()(site);
}

bool waits_for_itself(const facts::Call& call) {
    return call.waits == facts::Waits::itself;
}

} // namespace

Replays::Replays(const std::vector<Edit>& edits)
    : lanes_((edits.size() + Times::count - 1) / Times::count), gains_(edits.size()) {
    for (std::size_t replay = 0; replay < edits.size(); ++replay)
        for (const Change& change : edits[replay].changes)
            uses_[key_of(change.site)].push_back({replay, change});
}

/// Whether the change is made this time. The share of the calls that is changed is spread evenly.
bool Replays::make(Use& use) {
    const std::uint64_t seen = use.seen++;
    if (seen < use.change.kept)
        return false;
    const auto due = static_cast<std::uint64_t>(
        std::floor(static_cast<double>(seen + 1 - use.change.kept) * use.change.share + 1e-9));
    if (due <= use.done)
        return false;
    use.done = due;
    return true;
}

/// In the order of the replays, one each: that a call goes is more than what else is done to it.
void Replays::find_deeds(const model::CallSite& site) {
    deeds_.clear();
    std::vector<Use>* const uses = uses_.find(key_of(site));
    if (uses == nullptr)
        return;
    for (Use& use : *uses) {
        if (use.change.site != site || !make(use))
            continue;
        const Deed deed{use.replay, use.change, !std::exchange(use.begun, true)};
        if (deeds_.empty() || deeds_.back().replay != use.replay)
            deeds_.push_back(deed);
        else if (deeds_.back().change.what != What::gone)
            deeds_.back() = deed;
    }
}

void Replays::settle(const Pending& pending) {
    const facts::Call& call = pending.call;
    find_deeds(call.site);
    if (call.thread >= threads_.size())
        threads_.resize(call.thread + 1);
    Thread& thread = threads_[call.thread];
    if (!thread.begun) { // it was started by a thread that is as far ahead as the one heard of last
        thread = {call.start - pending.gap_ns, true};
        for (Lanes& lanes : lanes_) {
            lanes.hosts.resize(threads_.size());
            lanes.hosts[call.thread] = Times(thread.end) - lanes.shift;
        }
    }
    // What one thread waits for in another shows in no call. Where the others had returned by then, this call
    // is taken to follow the last of them.
    const bool follows = latest_end_ <= call.start && latest_end_ >= thread.end && latest_end_ > 0;
    auto deed = deeds_.begin();
    for (std::size_t block = 0; block < lanes_.size(); ++block) {
        const auto first = deed;
        while (deed != deeds_.end() && deed->replay < (block + 1) * Times::count)
            ++deed;
        step(lanes_[block], pending, follows, {first, deed}, block * Times::count);
    }
    thread.end = call.start + call.duration;
    if (thread.end >= latest_end_) {
        latest_end_ = thread.end;
        for (Lanes& lanes : lanes_)
            lanes.shift = Times(latest_end_) - lanes.hosts[call.thread];
    }
}

Times* Replays::Lanes::room(const facts::Call& call) {
    if (call.queues != facts::Queues::work || call.engine != facts::Engine::none ||
        call.stream.number >= most_queues)
        return nullptr;
    if (call.stream.number >= queues.size())
        queues.resize(call.stream.number + 1);
    Queue& queue = queues[call.stream.number];
    if (queue.ends.empty())
        queue.ends.resize(queue_length);
    Times* const room = &queue.ends[queue.next];
    queue.next = (queue.next + 1) % queue_length;
    return room;
}

Replays::Left Replays::shorten(const Pending& pending, const Change& change) {
    const facts::Call& call = pending.call;
    Left left{pending.device_ns, pending.own_ns, pending.wake_ns};
    const double less_ns = change.less_ns + change.less_ns_per_byte * static_cast<double>(call.bytes);
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

void Replays::step(Lanes& lanes, const Pending& pending, bool follows, std::span<const Deed> deeds,
                   std::size_t first_replay) {
    const facts::Call& call = pending.call;
    Times& host = lanes.hosts[call.thread];
    Times start = follows ? Times(call.start) - lanes.shift : host + pending.gap_ns;
    Times device(pending.device_ns), own(pending.own_ns), wake(pending.wake_ns);
    for (const Deed& deed : deeds) {
        const std::size_t lane = deed.replay - first_replay;
        const Change& change = deed.change;
        Gain& gain = gains_[deed.replay];
        const double added_ns = (deed.first ? change.added_ns : 0) + change.added_each_ns;
        gain.added_ns += added_ns;
        start.at[lane] += added_ns;
        if (change.what == What::shorter) {
            const Left left = shorten(pending, change);
            const double device_ns = pending.device_ns - left.device_ns, host_ns = pending.own_ns - left.own_ns;
            gain.edited_ns += call.staged ? std::max(device_ns, host_ns) : std::max(device_ns + host_ns, 0.0);
            device.at[lane] = left.device_ns;
            own.at[lane] = left.own_ns;
            wake.at[lane] = left.wake_ns;
        } else {
            gain.edited_ns += change.what == What::asynchronous || call.queues == facts::Queues::nothing
                                  ? call.duration
                                  : std::max(pending.device_ns, call.duration - pending.waited_ns);
        }
    }
    // Of calls that are gone nothing comes.
    const auto without_gone = [&](Times& times, const auto& instead) {
        for (const Deed& deed : deeds)
            if (deed.change.what == What::gone)
                times.at[deed.replay - first_replay] = instead(deed.replay - first_replay);
    };
    const auto never = [](std::size_t) { return 0.0; };
    Times end = start + own, done = end;
    if (call.queues == facts::Queues::work) {
        Times* const room = lanes.room(call);
        if (room != nullptr) {
            const double recorded = threads_[call.thread].end;
            for (std::size_t lane = 0; lane < Times::count; ++lane)
                if (host.at[lane] != recorded) // else the run itself says when the queue was full
                    end.at[lane] = std::max(end.at[lane], room->at[lane] + own.at[lane]);
        }
        done = lanes.state.ready(call, later(start + pending.told_ns, end - own)) + device;
        without_gone(done, never);
        lanes.state.queue(call, done);
        if (room != nullptr)
            *room = done;
    } else if (call.queues == facts::Queues::record) {
        const Times before = lanes.state.event(call.event);
        lanes.state.record(call, start + pending.told_ns);
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
    if (call.waits != facts::Waits::nothing) {
        Times awaited = later(end, (waits_for_itself(call) ? done : lanes.state.awaited(call)) + wake);
        for (const Deed& deed : deeds)
            if (deed.change.what == What::asynchronous)
                awaited.at[deed.replay - first_replay] = end.at[deed.replay - first_replay];
        end = awaited;
    }
    without_gone(end, [&](std::size_t lane) { return start.at[lane]; });
    host = end;
}

std::vector<Gain> Replays::gains(double device_end) const {
    std::vector<Gain> gains = gains_;
    const double end = std::max(latest_end_, device_end);
    for (std::size_t replay = 0; replay < gains.size(); ++replay) {
        const Lanes& lanes = lanes_[replay / Times::count];
        const std::size_t lane = replay % Times::count;
        gains[replay].saved_ns = end - std::max(latest_end_ - lanes.shift.at[lane], lanes.state.end().at[lane]);
    }
    return gains;
}

} // namespace umadvisor::timeline
