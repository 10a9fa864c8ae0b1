#include "analyzer/facts/stream_order.hpp"

#include <algorithm>

namespace umadvisor::facts {

void StreamOrder::Times::raise(std::uint32_t stream, std::uint64_t number) {
    if (stream >= done.size())
        done.resize(std::size_t{stream} + 1);
    if (done[stream] >= number)
        return;
    done[stream] = number;
    ++changes;
}

void StreamOrder::Times::join(const Times& other) {
    if (done.size() < other.done.size())
        done.resize(other.done.size());
    bool changed = false;
    for (std::size_t stream = 0; stream < other.done.size(); ++stream) {
        changed |= done[stream] < other.done[stream];
        done[stream] = std::max(done[stream], other.done[stream]);
    }
    changes += changed ? 1 : 0;
}

bool StreamOrder::Times::equals(const Times& other) const {
    const std::size_t streams = std::max(done.size(), other.done.size());
    for (std::size_t stream = 0; stream < streams; ++stream)
        if (of(static_cast<std::uint32_t>(stream)) != other.of(static_cast<std::uint32_t>(stream)))
            return false;
    return true;
}

bool StreamOrder::Times::is_within(const Times& other) const {
    for (std::size_t stream = 0; stream < done.size(); ++stream)
        if (done[stream] > other.of(static_cast<std::uint32_t>(stream)))
            return false;
    return true;
}

/// nullptr: there are too many.
StreamOrder::Lane* StreamOrder::lane(const facts::StreamPlace& stream) {
    if (stream.number >= most_streams) {
        unknown_ = true;
        return nullptr;
    }
    if (stream.number >= lanes_.size())
        lanes_.resize(std::size_t{stream.number} + 1);
    Lane& found = lanes_[stream.number];
    found.place = stream; // numbers of destroyed streams are given out again
    if (stream.legacy) {
        if (stream.device >= legacy_.size())
            legacy_.resize(std::size_t{stream.device} + 1);
        legacy_[stream.device] = stream.number + 1;
    }
    return &found;
}

StreamOrder::Times* StreamOrder::event(std::uint32_t number) {
    if (number >= most_events) {
        unknown_ = true;
        return nullptr;
    }
    if (number >= events_.size())
        events_.resize(std::size_t{number} + 1);
    return &events_[number];
}

void StreamOrder::join(Lane& lane, Lane& other) {
    const std::uint32_t number = other.place.number;
    if (number >= lane.seen.size())
        lane.seen.resize(std::size_t{number} + 1);
    if (lane.seen[number] == other.times.changes)
        return;
    lane.seen[number] = other.times.changes;
    lane.times.join(other.times);
}

/// What every piece of work waits for that is queued now: what the host has waited for, and what the legacy
/// default stream orders.
void StreamOrder::absorb(Lane& lane) {
    if (lane.host_seen != host_.changes) {
        lane.host_seen = host_.changes;
        lane.times.join(host_);
    }
    if (lane.place.legacy) {
        for (Lane& other : lanes_)
            if (other.place.blocking && other.place.device == lane.place.device)
                join(lane, other);
    } else if (lane.place.blocking && lane.place.device < legacy_.size() && legacy_[lane.place.device] != 0) {
        join(lane, lanes_[legacy_[lane.place.device] - 1]);
    }
}

void StreamOrder::wait(const Open& open) {
    switch (open.what) {
    case facts::Waits::nothing:
        return;
    case facts::Waits::itself:
    case facts::Waits::stream:
        if (Lane* const of = lane(open.stream)) {
            absorb(*of);
            host_.join(of->times);
        }
        return;
    case facts::Waits::event:
        if (const Times* const of = event(open.event))
            host_.join(*of);
        return;
    case facts::Waits::device: // of a free, whose device is unknown: all devices
        for (const Lane& of : lanes_)
            if (!open.surely_waits || of.place.device == open.stream.device)
                host_.join(of.times);
        return;
    }
}

/// Work that other threads queued while a thread waited may have been waited for, too.
void StreamOrder::close(double until) {
    next_end_ = HUGE_VAL;
    std::erase_if(open_, [&](const Open& open) {
        if (open.end > until) {
            next_end_ = std::min(next_end_, open.end);
            return false;
        }
        wait(open);
        return true;
    });
}

void StreamOrder::add(const facts::Call& call) {
    if (unknown_)
        return;
    if (next_end_ <= call.start)
        close(call.start);
    if (call.queues != facts::Queues::nothing) {
        Lane* const of = lane(call.stream);
        Times* const marked = call.event == 0 ? nullptr : event(call.event);
        if (unknown_)
            return;
        absorb(*of);
        if (call.queues == facts::Queues::work) {
            streams_with_work_ += of->used ? 0 : 1;
            of->used = true;
            if (marked != nullptr)
                of->times.join(*marked);
            of->times.raise(call.stream.number, of->times.of(call.stream.number) + 1);
        } else if (call.queues == facts::Queues::join && marked != nullptr) {
            unknown_ |= marked->changes == 0; // the trace does not show where it was recorded
            of->times.join(*marked);
        }
        if (call.queues != facts::Queues::join && marked != nullptr) {
            const std::uint64_t changes = marked->changes + 1;
            *marked = of->times;
            marked->changes = changes;
        }
    }
    Open open{call.start + call.duration, call.stream, call.event, call.found_done, call.surely_waits};
    if (open.what != facts::Waits::nothing)
        wait(open);
    if (call.waits == facts::Waits::nothing)
        return;
    open.what = call.waits;
    wait(open);
    open_.push_back(open);
    next_end_ = std::min(next_end_, open.end);
}

void StreamOrder::leave_out(const facts::StreamPlace& stream) {
    if (unknown_ || stream.number >= most_streams)
        return;
    if (stream.number >= lanes_.size())
        lanes_.resize(std::size_t{stream.number} + 1);
    Times& times = lanes_[stream.number].times;
    times.raise(stream.number, times.of(stream.number) + 1);
}

bool StreamOrder::agrees(const StreamOrder& run) const {
    if (unknown_ || run.unknown_ || open_.size() != run.open_.size() || !host_.equals(run.host_))
        return false;
    const Times nothing;
    for (std::size_t i = 0; i < run.lanes_.size(); ++i)
        if (!run.lanes_[i].times.equals(i < lanes_.size() ? lanes_[i].times : nothing))
            return false;
    // An event adds no order to work that the host has already waited for.
    for (std::size_t i = 0; i < run.events_.size(); ++i) {
        const Times& theirs = run.events_[i];
        const Times& own = i < events_.size() ? events_[i] : nothing;
        if ((own.changes == 0) != (theirs.changes == 0) ||
            !(own.equals(theirs) || (own.is_within(host_) && theirs.is_within(host_))))
            return false;
    }
    return true;
}

StreamOrder::Moment StreamOrder::last(const facts::StreamPlace& stream) const {
    return {stream.number, stream.number < lanes_.size() ? lanes_[stream.number].times.of(stream.number) : 0};
}

bool StreamOrder::before(const Moment& earlier, const facts::StreamPlace& stream) const {
    return unknown_ ||
           (stream.number < lanes_.size() && lanes_[stream.number].times.of(earlier.stream) >= earlier.number);
}

bool StreamOrder::is_awaited(const Moment& work) const {
    return unknown_ || host_.of(work.stream) >= work.number;
}

} // namespace umadvisor::facts
