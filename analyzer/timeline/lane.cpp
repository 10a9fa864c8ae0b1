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

void Replays::step(Lane& lane, const Pending& pending, const Deed& deed) {
    const facts::Call& call = pending.call;
    if (call.thread >= lane.hosts.size())
        lane.hosts.resize(call.thread + 1);
    Host& host = lane.hosts[call.thread];
    if (!host.begun) { // it was started by a thread that is as far ahead as the one heard of last
        host = {call.start - pending.gap_ns - lane.shift, call.start - pending.gap_ns, true};
    }
    double start = host.end + pending.gap_ns;
    const Change* const change = deed.change;
    if (change != nullptr)
        start += (deed.first ? change->added_ns : 0) + change->added_each_ns;
    double end = start;
    if (change == nullptr || change->what != What::gone) {
        double device_ns = pending.device_ns, own_ns = pending.own_ns;
        bool waits = call.waits != facts::Waits::nothing;
        if (change != nullptr) {
            const double ns = change->fixed_ns + change->ns_per_byte * static_cast<double>(call.bytes);
            if (change->what == What::faster)
                device_ns = std::min(device_ns, ns);
            if (change->what == What::cheaper)
                own_ns = std::min(own_ns, ns);
            waits = waits && change->what != What::asynchronous && change->what != What::cheaper;
        }
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
            lane.state.record(call);
        } else if (call.queues == facts::Queues::join) {
            lane.state.join(call);
        }
        if (pending.late_ns > 0 && call.waits != facts::Waits::itself)
            lane.state.limit(call, lane.state.awaited(call) - pending.late_ns);
        if (waits)
            end = std::max(end, (call.waits == facts::Waits::itself ? done : lane.state.awaited(call)) +
                                    pending.wake_ns);
    }
    host.end = end;
    host.recorded_end = call.start + call.duration;
    if (host.recorded_end >= lane.latest_recorded) {
        lane.latest_recorded = host.recorded_end;
        lane.shift = host.recorded_end - host.end;
    }
}

std::vector<double> Replays::savings() const {
    std::vector<double> savings;
    for (const Lane& lane : lanes_)
        savings.push_back(lane.shift);
    return savings;
}

} // namespace umadvisor::timeline
