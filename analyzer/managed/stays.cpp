#include "analyzer/managed/stays.hpp"

#include "analyzer/reader/saturated.hpp"

#include <algorithm>

namespace umadvisor::managed {
namespace {

constexpr std::uint64_t most_for_a_fault = 2 << 20; ///< a block
constexpr std::size_t most_queues = 32, most_covered = 64;

std::uint64_t end_of(const UseStep& step) {
    return step.offset + step.bytes;
}

} // namespace

void Stays::QueueCounts::add(const facts::WorkQueue& queue, std::uint64_t count) {
    const auto found = std::ranges::find(counts_, queue, &std::pair<facts::WorkQueue, std::uint64_t>::first);
    if (found != counts_.end())
        found->second += count;
    else if (counts_.size() < most_queues)
        counts_.emplace_back(queue, count);
    else
        counts_.back().second += count;
}

void Stays::QueueCounts::add(const QueueCounts& other) {
    for (const auto& [queue, count] : other.counts_)
        add(queue, count);
}

std::uint64_t Stays::QueueCounts::most() const {
    std::uint64_t most = 0;
    for (const auto& [queue, count] : counts_)
        most = std::max(most, count);
    return most;
}

void Stays::add(const UseStep& step) {
    if (!unsettled_.empty() && step.kind == UseKind::launch && unsettled_.back().kind == UseKind::launch &&
        unsettled_.back().kernel == step.kernel && unsettled_.back().queue == step.queue) {
        ++unsettled_.back().count;
        return;
    }
    // Nearly always the last.
    auto at = unsettled_.end();
    while (at != unsettled_.begin() && std::prev(at)->time > step.time)
        --at;
    unsettled_.insert(at, step);
    ++budget_.used;
    if (unsettled_.size() >= most_unsettled ||
        (budget_.used >= budget_.most && unsettled_.size() >= fewest_unsettled))
        settle(unsettled_.size() / 2);
}

void Stays::finish() {
    settle(unsettled_.size());
    measure_by_return();
    unseen_.finish();
}

void Stays::settle(std::size_t count) {
    for (std::size_t i = 0; i < count; ++i)
        take(unsettled_[i]);
    unsettled_.erase(unsettled_.begin(), unsettled_.begin() + static_cast<std::ptrdiff_t>(count));
    budget_.used -= count;
}

void Stays::take(const UseStep& step) {
    unseen_.take(step);
    switch (step.kind) {
    case UseKind::launch:
        return launch(step);
    case UseKind::wait:
        waited_ = true;
        last_wait_ = step.time;
        if (here() && !now().on_device && now().ready == 0)
            now().ready = step.time;
        return;
    case UseKind::prefetch_to_device:
        return prefetch_to_device(step);
    case UseKind::prefetch_to_host:
        return prefetch_to_host(step);
    case UseKind::host_fault:
        return host_fault(step);
    case UseKind::look_before_launch:
        return look_before_launch(step);
    case UseKind::look_after_wait:
        return look_after_wait(step);
    case UseKind::totals:
        return totals(step);
    case UseKind::arrival:
        return arrive(step);
    }
}

/// What came back to the host had been on the device.
void Stays::measure_by_return() {
    if (stays_.size() < 2 || now().on_device)
        return;
    Stay& there = stays_[stays_.size() - 2];
    if (there.on_device && there.unmeasured)
        there.by_fault = std::max(there.by_fault, now().by_fault);
}

Stay& Stays::begin(bool on_device, std::uint64_t time) {
    if (here()) {
        measure_by_return();
        now().end = time;
        if (stays_.size() == 2 * most_kept) {
            reader::add_saturated(left_out_arrived_[stays_[most_kept].on_device], stays_[most_kept].arrived());
            stays_.erase(stays_.begin() + most_kept);
            ++left_out_;
        }
    }
    launches_.clear();
    pending_.clear();
    covered_.clear();
    seen_there_ = prefetched_ = false;
    faults_before_ = launched_since_totals_;
    before_launch_ = on_device ? on_host_ : 0;
    stays_.push_back({.on_device = on_device, .begin = time});
    return now();
}

std::uint64_t Stays::arrived(bool on_device) const {
    std::uint64_t sum = left_out_arrived_[on_device];
    for (const Stay& stay : stays_)
        if (stay.on_device == on_device)
            reader::add_saturated(sum, stay.arrived());
    return reader::saturated_sum(sum, unseen_.bytes(on_device));
}

/// The pending launches have pulled it over.
Stay& Stays::follow_launches(std::uint64_t by_fault) {
    const QueueCounts launches = pending_;
    const std::uint64_t faults = pending_faults_;
    Stay& stay = begin(true, pending_time_);
    stay.by_fault = by_fault;
    stay.pulls = by_fault != 0;
    stay.kernel = pending_kernel_;
    stay.last_kernel = pending_last_kernel_;
    launches_ = launches;
    stay.launches = launches_.most();
    stay.device_faults = faults;
    faults_before_ = false;
    return stay;
}

/// Before a prefetch: what runs now has begun to use it. Where no look followed launches that were waited
/// for, they are assumed to have left it where it was.
void Stays::follow_running_launches() {
    if (pending_.empty())
        return;
    if (waited_)
        pending_.clear();
    else
        follow_launches(0); // a later look will measure how much faults brought
}

void Stays::launch(const UseStep& step) {
    waited_ = false;
    launched_since_totals_ = true;
    if (!here())
        begin(true, step.time).populated = true;
    if (now().on_device) {
        if (launches_.empty())
            now().kernel = step.kernel;
        now().last_kernel = step.kernel;
        launches_.add(step.queue, step.count);
        now().launches = launches_.most();
        return;
    }
    if (pending_.empty()) {
        pending_time_ = step.time;
        pending_kernel_ = step.kernel;
        pending_faults_ = 0;
    }
    pending_last_kernel_ = step.kernel;
    pending_.add(step.queue, step.count);
}

bool Stays::covers(const UseStep& step) const {
    std::uint64_t at = step.offset; // covered_ is in order
    for (const auto& [first, end] : covered_)
        if (first <= at && at < end)
            at = end;
    return at >= end_of(step);
}

void Stays::cover(const UseStep& step) {
    if (covered_.size() == most_covered)
        return;
    const std::pair range{step.offset, end_of(step)};
    covered_.insert(std::ranges::upper_bound(covered_, range), range);
}

void Stays::prefetch_to_device(const UseStep& step) {
    follow_running_launches();
    if (!here() || !now().on_device) {
        const bool nowhere = !here();
        Stay& stay = begin(true, step.time);
        prefetched_ = true;
        stay.populated = nowhere;
        stay.by_prefetch = nowhere ? 0 : step.bytes;
        stay.prefetch_stack = step.place;
        return cover(step);
    }
    Stay& stay = now();
    prefetched_ = true;
    if (!waited_ && !stay.populated && stay.by_prefetch == 0) {
        stay.late_bytes += step.bytes;
        stay.prefetch_stack = step.place;
        return;
    }
    if (stay.by_prefetch != 0 && !covers(step)) {
        stay.by_prefetch = std::min(bytes_, stay.by_prefetch + step.bytes);
        return cover(step);
    }
    ++redundant_.calls;
    redundant_.bytes += step.bytes;
    redundant_.first = std::min(redundant_.first, step.offset);
    redundant_.last = std::max(redundant_.last, end_of(step));
    redundant_.stack = step.place;
}

void Stays::prefetch_to_host(const UseStep& step) {
    follow_running_launches();
    if (here() && !now().on_device) {
        if (!covers(step) && now().by_prefetch != 0) {
            now().by_prefetch = std::min(bytes_, now().by_prefetch + step.bytes);
            cover(step);
        }
        return;
    }
    const bool nowhere = !here();
    Stay& stay = begin(false, step.time);
    stay.populated = nowhere;
    stay.by_prefetch = nowhere ? 0 : step.bytes;
    stay.prefetch_stack = step.place;
    cover(step);
}

void Stays::host_fault(const UseStep& step) {
    // A page that the host had, and asks for again, had left it.
    if (here() && !now().on_device && !pending_.empty() && step.time > pending_time_ &&
        step.offset <= now().highest && end_of(step) > now().lowest)
        follow_launches(std::min(bytes_, granule)).unmeasured = true;
    if (!here())
        begin(false, step.time).populated = true;
    else if (now().on_device) {
        Stay& stay = begin(false, step.time);
        stay.by_fault = std::min(bytes_, granule);
        stay.ready = step.time;
    } else if (now().by_fault != 0) {
        now().by_fault = std::min(bytes_, now().by_fault + granule);
    }
    Stay& stay = now();
    if (stay.faults == 0)
        stay.first_fault = step.time;
    stay.last_fault = std::max(stay.last_fault, step.time);
    stay.faults += step.count;
    stay.write_faults += step.write ? step.count : 0;
    stay.lowest = std::min(stay.lowest, step.offset);
    stay.highest = std::max(stay.highest, end_of(step) - 1);
    if (stay.code == 0)
        stay.code = step.place.number();
}

void Stays::totals(const UseStep& step) {
    if (!here())
        return;
    Stay& stay = now();
    if (stay.on_device) {
        if (!std::exchange(faults_before_, false))
            stay.device_faults += step.device_faults;
        evicted_ += step.evicted;
        // No totals are read at the prefetch that ended the stay before.
        if (stay.by_prefetch != 0 && stays_.size() > 1)
            measure_by_totals(stays_[stays_.size() - 2], step);
    } else if (!pending_.empty()) {
        pending_faults_ += step.device_faults;
    } else {
        measure_by_totals(stay, step);
    }
    launched_since_totals_ = false;
}

/// No look has been recorded since, and the host has not asked for it again.
void Stays::arrive(const UseStep& step) {
    if (here() && !now().on_device && !pending_.empty())
        follow_launches(std::min(bytes_, step.bytes));
}

/// What the host's faults brought, where the driver's totals have all of it.
void Stays::measure_by_totals(Stay& stay, const UseStep& step) const {
    if (stay.on_device || stay.by_fault == 0 || stay.faults == 0 || step.since > stay.begin)
        return;
    if (step.host_bytes == 0)
        stay.by_fault = 0; // the host took pages that were on neither side
    else
        stay.by_fault =
            std::max(stay.by_fault, std::min({bytes_, step.host_bytes, stay.faults * most_for_a_fault}));
}

} // namespace umadvisor::managed
