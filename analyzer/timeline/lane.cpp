#include "analyzer/timeline/lane.hpp"

#include <algorithm>
#include <cmath>

namespace umadvisor::timeline {

using What = Change::What;

Replays::Replays(const std::vector<Edit>& edits) : lanes_(edits.size()) {
    for (std::size_t lane = 0; lane < edits.size(); ++lane)
        for (const Change& change : edits[lane].changes)
            uses_[change.site].push_back({lane, change});
}

Replays::Deed Replays::deed(Use& use) {
    const std::uint64_t seen = use.seen++;
    if (seen < use.change.kept)
        return {};
    // The share of them that is changed is spread evenly.
    const auto due = static_cast<std::uint64_t>(
        std::floor(static_cast<double>(seen + 1 - use.change.kept) * use.change.share + 1e-9));
    if (due <= use.done)
        return {};
    use.done = due;
    const bool first = !use.begun;
    use.begun = true;
    return {&use.change, first};
}

void Replays::settle(const Pending& pending) {
    const auto found = uses_.find(pending.call.site);
    std::vector<Use>* const uses = found == uses_.end() ? nullptr : &found->second;
    std::size_t next = 0;
    for (std::size_t i = 0; i < lanes_.size(); ++i) {
        Deed done;
        for (; uses != nullptr && next < uses->size() && (*uses)[next].lane == i; ++next)
            if (const Deed also = deed((*uses)[next]);
                also.change != nullptr && (done.change == nullptr || done.change->what != What::gone))
                done = also;
        step(lanes_[i], pending, done);
    }
}

double Replays::Lane::room(const facts::Call& call, double own_ns) {
    if (call.engine != facts::Engine::none || call.stream.number >= most_queues)
        return 0;
    if (call.stream.number >= queues.size())
        queues.resize(call.stream.number + 1);
    Queue& queue = queues[call.stream.number];
    if (queue.ends.empty())
        queue.ends.resize(queue_length);
    return queue.ends[queue.next] + own_ns;
}

void Replays::Lane::put(const facts::Call& call, double end) {
    if (call.engine != facts::Engine::none || call.stream.number >= most_queues)
        return;
    Queue& queue = queues[call.stream.number];
    queue.ends[queue.next] = end;
    queue.next = (queue.next + 1) % queue_length;
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
    else if (call.waits == facts::Waits::itself)
        left.own_ns = std::max(0.0, left.own_ns - (less_ns - (pending.device_ns - left.device_ns)));
    return left;
}

void Replays::step(Lane& lane, const Pending& pending, const Deed& deed) {
    const facts::Call& call = pending.call;
    if (call.thread >= lane.hosts.size())
        lane.hosts.resize(call.thread + 1);
    Host& host = lane.hosts[call.thread];
    if (!host.begun) { // it was started by a thread that is as far ahead as the one heard of last
        host = {call.start - pending.gap_ns - lane.shift, call.start - pending.gap_ns, true};
    }
    // What one thread waits for in another shows in no call. Where the others had returned by then, this call
    // is taken to follow the last of them.
    const bool follows = lane.latest_recorded <= call.start && lane.latest_recorded >= host.recorded_end &&
                         lane.latest_recorded > 0;
    double start = follows ? call.start - lane.shift : host.end + pending.gap_ns;
    const Change* const change = deed.change;
    if (change != nullptr) {
        const double added_ns = (deed.first ? change->added_ns : 0) + change->added_each_ns;
        lane.added_ns += added_ns;
        start += added_ns;
    }
    double end = start;
    if (change != nullptr && change->what != What::shorter)
        lane.edited_ns += change->what == What::asynchronous || call.queues == facts::Queues::nothing
                              ? call.duration
                              : std::max(pending.device_ns, call.duration - pending.waited_ns);
    if (change == nullptr || change->what != What::gone) {
        Left left{pending.device_ns, pending.own_ns, pending.wake_ns};
        if (change != nullptr && change->what == What::shorter) {
            left = shorten(pending, *change);
            const double device_ns = pending.device_ns - left.device_ns, host_ns = pending.own_ns - left.own_ns;
            lane.edited_ns += call.staged ? std::max(device_ns, host_ns) : std::max(device_ns + host_ns, 0.0);
        }
        const auto [device_ns, own_ns, wake_ns] = left;
        const bool waits =
            call.waits != facts::Waits::nothing && (change == nullptr || change->what != What::asynchronous);
        end = start + own_ns;
        double done = end;
        if (call.queues == facts::Queues::work) {
            const double room = lane.room(call, own_ns);
            if (host.end != host.recorded_end) // else the run itself says when the queue was full
                end = std::max(end, room);
            done = lane.state.ready(call, std::max(start + pending.told_ns, end - own_ns)) + device_ns;
            lane.state.queue(call, done);
            lane.put(call, done);
        } else if (call.queues == facts::Queues::record) {
            lane.state.record(call, start + pending.told_ns);
        } else if (call.queues == facts::Queues::join) {
            lane.state.join(call);
        }
        if (pending.late_ns > 0 && call.waits != facts::Waits::itself)
            lane.state.limit(call, lane.state.awaited(call) - pending.late_ns);
        if (waits)
            end =
                std::max(end, (call.waits == facts::Waits::itself ? done : lane.state.awaited(call)) + wake_ns);
    }
    host.end = end;
    host.recorded_end = call.start + call.duration;
    if (host.recorded_end >= lane.latest_recorded) {
        lane.latest_recorded = host.recorded_end;
        lane.shift = host.recorded_end - host.end;
    }
}

std::vector<Gain> Replays::gains(double device_end) const {
    std::vector<Gain> gains;
    for (const Lane& lane : lanes_) {
        const double end = std::max(lane.latest_recorded, device_end);
        const double edited_end = std::max(lane.latest_recorded - lane.shift, lane.state.end());
        gains.push_back({end - edited_end, lane.edited_ns, lane.added_ns});
    }
    return gains;
}

} // namespace umadvisor::timeline
