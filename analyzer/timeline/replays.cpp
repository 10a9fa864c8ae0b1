#include "analyzer/timeline/replays.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

namespace umadvisor::timeline {
namespace {

using What = Change::What;

std::uint64_t key_of(const ids::CallSite& site) {
    return std::hash<ids::CallSite>()(site);
}

} // namespace

Replays::Replays(const std::vector<Edit>& edits)
    : lanes_((edits.size() + Times::count - 1) / Times::count), gains_(edits.size()) {
    for (std::size_t replay = 0; replay < edits.size(); ++replay) {
        Lanes& lanes = lanes_[replay / Times::count];
        lanes.assumed[replay % Times::count] = edits[replay].assumed;
        lanes.assumes |= edits[replay].assumed != Assumed::likely;
        for (const Change& change : edits[replay].changes) {
            uses_[key_of(change.site)].push_back({replay, change});
            lanes.relieves |= change.less_after_share > 0;
            if (change.what == What::own_stream) {
                lanes_[replay / Times::count].apart[replay % Times::count] = true;
                leave_step(replay / Times::count, {});
            }
        }
    }
}

/// Whether the change is made this time. The share of the calls that is changed is spread evenly.
bool Replays::make(Use& use) {
    const auto due =
        static_cast<std::uint64_t>(std::floor(static_cast<double>(++use.seen) * use.change.share + 1e-9));
    if (due <= use.done)
        return false;
    use.done = due;
    return true;
}

/// In the order of the replays, one each.
void Replays::find_deeds(const ids::CallSite& site) {
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
        else
            deeds_.back() = both(deeds_.back(), deed);
    }
}

/// What several remedies take off the same work adds up.
Replays::Deed Replays::both(const Deed& earlier, const Deed& deed) {
    Deed all = earlier.change.what == What::gone ? earlier : deed;
    all.change.less_share = std::min(1.0, earlier.change.less_share + deed.change.less_share);
    all.change.less_after_share = std::min(1.0, earlier.change.less_after_share + deed.change.less_after_share);
    all.change.at_once = earlier.change.at_once || deed.change.at_once;
    return all;
}

namespace {

/// Close enough, in nanoseconds.
constexpr double unequal_ns = 0.01;
/// A wait for work that had ended before the wait began returns within this time.
constexpr double longest_wake_ns = 15'000;

bool is_alike(double time, double other) {
    return std::abs(time - other) < unequal_ns;
}

} // namespace

/// Whether nothing remains of the changes but that all happens earlier. Times that are long past for both host
/// and device block nothing any more.
bool Replays::keeps_step(Lanes& lanes, const State<double>& recorded) const {
    const Thread& thread = threads_[last_thread_];
    if (thread.end != latest_end_ || thread.room != 0)
        return false;
    const Times passed = lanes.hosts[last_thread_] - longest_wake_ns;
    const auto keeps = [&](const Times& time, double as_recorded) {
        const bool recorded_passed = as_recorded < thread.end - longest_wake_ns;
        bool all = true;
        for (std::size_t lane = 0; lane < Times::count; ++lane)
            all &= (recorded_passed && time.at[lane] < passed.at[lane]) ||
                   is_alike(time.at[lane], as_recorded - lanes.shift.at[lane]);
        return all;
    };
    const auto is_open = [](double left) { return left > 0; };
    if (std::ranges::any_of(lanes.owed,
                            [&](const Times& owed) { return std::ranges::any_of(owed.at, is_open); }) ||
        std::ranges::any_of(lanes.reliefs,
                            [&](const Relief& relief) { return std::ranges::any_of(relief.share, is_open); }))
        return false;
    if (!lanes.state.visit_with(recorded, keeps))
        return false;
    for (std::size_t stream = 0; stream < lanes.queues.size(); ++stream)
        for (std::size_t back = std::min(lanes.queues[stream].count, queue_length); back != 0; --back)
            if (!keeps(lanes.queues[stream].end(back), queues_[stream].end(back)))
                return false;
    return true;
}

bool Replays::enters_step(Lanes& lanes, const State<double>& recorded) const {
    if (!lanes.waited || lanes.steps < lanes.look || std::ranges::find(lanes.apart, true) != lanes.apart.end())
        return false;
    constexpr std::size_t most_steps = 4096;
    lanes.look = lanes.steps + std::min(lanes.steps, most_steps);
    if (!keeps_step(lanes, recorded))
        return false;
    lanes.in_step = true;
    for (std::size_t thread = 0; thread < lanes.hosts.size(); ++thread)
        lanes.with[thread] = std::ranges::equal(lanes.hosts[thread].at,
                                                (Times(threads_[thread].end) - lanes.shift).at, is_alike);
    return true;
}

void Replays::leave_step(std::size_t block, const State<double>& recorded) {
    Lanes& lanes = lanes_[block];
    if (!std::exchange(lanes.in_step, false))
        return;
    replayed_.push_back(block);
    lanes.state.visit_with(recorded, [&lanes](Times& time, double as_recorded) {
        time = Times(as_recorded) - lanes.shift;
        return true;
    });
    for (std::size_t thread = 0; thread < lanes.hosts.size(); ++thread)
        if (lanes.with[thread]) {
            lanes.hosts[thread] = Times(threads_[thread].end) - lanes.shift;
            lanes.rooms[thread] = Times(threads_[thread].room) - lanes.shift;
        }
    for (Queue<Times>& queue : lanes.queues)
        queue.count = 0;
    lanes.shift_before = lanes.shift;
    lanes.steps = 0;
    lanes.look = (lanes.state.size() + lanes.hosts.size()) / 8; // a step takes as long as a look at a few
}

void Replays::settle(const Pending& pending, const State<double>& recorded) {
    const facts::Call& call = pending.call;
    find_deeds(call.site);
    if (call.thread >= threads_.size())
        threads_.resize(call.thread + 1);
    Thread& thread = threads_[call.thread];
    if (!thread.begun) { // it was started by a thread that is as far ahead as the one heard of last
        thread.end = call.start - pending.gap_ns;
        thread.begun = true;
        for (Lanes& lanes : lanes_) {
            lanes.hosts.resize(threads_.size());
            lanes.rooms.resize(threads_.size());
            lanes.with.resize(threads_.size());
            lanes.hosts[call.thread] = Times(thread.end) - lanes.shift;
            lanes.with[call.thread] = true;
        }
        if (watched_ != SIZE_MAX && call.thread < Spared::most_threads) {
            spared_.threads.resize(std::max<std::size_t>(spared_.threads.size(), call.thread + 1));
            spared_.threads[call.thread].shift_ns =
                lanes_[watched_ / Times::count].shift.at[watched_ % Times::count];
        }
    }
    // No call shows what one thread waits for in another. Where the others had returned by then, this call is
    // assumed to follow the last of them.
    const bool follows = latest_end_ <= call.start && latest_end_ > thread.end;
    std::erase_if(replayed_, [&](std::size_t block) { return enters_step(lanes_[block], recorded); });
    // The thread of the last call is with all that are in step.
    for (std::size_t block = 0; block < lanes_.size() && call.thread != last_thread_; ++block)
        if (follows)
            lanes_[block].with[call.thread] = true;
        else if (!lanes_[block].with[call.thread])
            leave_step(block, recorded);
    for (const Deed& deed : deeds_)
        leave_step(deed.replay / Times::count, recorded);
    const Unheld unheld = unhold(pending, thread);
    for (const std::size_t block : replayed_)
        step(lanes_[block], pending, unheld, follows, deeds_of(block), block * Times::count);
    if (Recorded* const queue = queue_of(queues_, call))
        queue->push(pending.end);
    last_thread_ = call.thread;
    thread.end = call.start + call.duration;
    if (thread.end >= latest_end_) {
        latest_end_ = thread.end;
        for (const std::size_t block : replayed_)
            lanes_[block].shift = Times(latest_end_) - lanes_[block].hosts[call.thread];
    }
}

std::span<const Replays::Deed> Replays::deeds_of(std::size_t block) const {
    const auto first = std::ranges::lower_bound(deeds_, block * Times::count, {}, &Deed::replay);
    const auto last = std::ranges::lower_bound(deeds_, (block + 1) * Times::count, {}, &Deed::replay);
    return {first, last};
}

template <class Kind>
Kind* Replays::queue_of(std::vector<Kind>& queues, const facts::Call& call) {
    if (!facts::launches(call) || call.stream.number >= most_queues)
        return nullptr;
    if (call.stream.number >= queues.size())
        queues.resize(call.stream.number + 1);
    return &queues[call.stream.number];
}

/// While the queue fills or empties, each launch finds another number.
void Replays::Recorded::learn(double now) {
    constexpr std::size_t least_length = 900, surely = 16;
    while (pending != 0 && end(pending) <= now)
        --pending;
    if (pending + 1 < level || pending > level + 1) {
        level = pending;
        steady = 0;
    } else if (++steady >= surely && pending >= least_length) {
        length = std::min(length, pending - 1); // less than a launch is off
    }
    pending = std::min(pending + 1, queue_length);
}

/// A launch into a full queue takes until there is room; where its duration was not measured, the program's own
/// time behind it is longer by that.
Replays::Unheld Replays::unhold(const Pending& pending, Thread& thread) {
    const facts::Call& call = pending.call;
    Unheld unheld{pending.gap_ns, pending.own_ns};
    if (thread.room > thread.end) {
        unheld.behind_full = true;
        unheld.early_ns = std::max(0.0, thread.room - call.start);
        unheld.gap_ns = std::max(0.0, call.start - thread.room);
    }
    thread.room = 0;
    Recorded* const queue = queue_of(queues_, call);
    if (queue == nullptr)
        return unheld;
    queue->learn(call.start);
    unheld.length = queue->length;
    const double room = queue->end(queue->length), end = call.start + call.duration;
    launch_ns_ = std::min(launch_ns_, call.duration);
    if (room > end) {
        unheld.own_ns = std::min(unheld.own_ns, launch_ns_);
        unheld.waits_later = true;
        unheld.later_ns = room - end;
        thread.room = room;
    } else if (room > call.start) {
        unheld.own_ns = end - room;
    }
    return unheld;
}

/// The end of the first of the last `length` launches on the stream of `call`.
Times Replays::room(const Lanes& lanes, const Queue<Times>& queue, const facts::Call& call,
                    std::size_t length) const {
    return length <= queue.count ? queue.end(length)
                                 : Times(queues_[call.stream.number].end(length)) - lanes.shift_before;
}

} // namespace umadvisor::timeline
