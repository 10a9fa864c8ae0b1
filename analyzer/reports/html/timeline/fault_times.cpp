#include "analyzer/reports/html/timeline/fault_times.hpp"

#include <algorithm>
#include <tuple>

namespace umadvisor::html {
namespace {

constexpr std::size_t most_intervals = 1 << 16, most_faults = 1 << 18;

constexpr std::uint32_t state(Cause cause) {
    return static_cast<std::uint32_t>(cause);
}
constexpr std::uint32_t state(Work work) {
    return static_cast<std::uint32_t>(work);
}

/// Of stretches in order, the parts within [begin, end); `from` is the first that may meet it.
Stretches within(const Stretches& list, std::size_t from, double begin, double end) {
    Stretches result;
    for (std::size_t i = from; i < list.size() && list[i].first < end; ++i)
        if (const Stretch part{std::max(list[i].first, begin), std::min(list[i].second, end)};
            part.second > part.first)
            result.push_back(part);
    return result;
}

/// Spreads bytes over stretches of an interval, or over all of it where the link is too slow for that.
void spread(Timeline& timeline, bool upward, const Interval& interval, const Stretches& where, double bytes,
            double rate) {
    const auto carry = [&](double begin, double end, double part) {
        timeline.carry(upward ? 0 : timeline.managed_at, upward ? timeline.managed_at : 0, begin, end, part);
    };
    double sum = 0;
    for (const Stretch& each : where)
        sum += each.second - each.first;
    if (sum * rate <= bytes) // all of it cannot have crossed then
        return carry(interval.begin, interval.end, bytes);
    for (const Stretch& each : where)
        carry(each.first, each.second, bytes * (each.second - each.first) / sum);
}

} // namespace

void FaultTimes::add(const Interval& interval) {
    intervals_.push_back(interval);
    if (intervals_.size() < most_intervals)
        return;
    std::size_t kept = 0; // two become one
    for (std::size_t i = 0; i + 1 < intervals_.size(); i += 2) {
        Interval both = intervals_[i];
        const Interval& other = intervals_[i + 1];
        both.end = other.end;
        both.up += other.up;
        both.down += other.down;
        both.host_faults += other.host_faults;
        both.device_faults += other.device_faults;
        both.prefetched_up += other.prefetched_up;
        both.prefetched_down += other.prefetched_down;
        intervals_[kept++] = both;
    }
    intervals_.resize(kept);
}

void FaultTimes::host_fault(double time, std::uint64_t tid, std::uint64_t code) {
    if (faults_.size() < most_faults)
        faults_.push_back({time, tid, code});
}

/// While the device had page faults: so much of its work in an interval as the faults and bytes that the driver
/// counted in it take at this machine's prices.
Stretches FaultTimes::stalls(const Timeline& timeline, const machine::Rates& rates) const {
    std::vector<const Piece*> work;
    const auto add = [&work](const std::vector<Piece>& pieces) {
        for (const Piece& piece : pieces)
            work.push_back(&piece);
    };
    for (const auto& stream : timeline.streams)
        if (stream)
            add(stream->work.pieces());
    for (const auto& [stack, detail] : timeline.details)
        for (const auto& [number, pieces] : detail.work)
            if (!timeline.streams[number]->work.exact())
                add(pieces);
    std::ranges::sort(work, {}, [](const Piece* piece) { return std::pair(piece->begin, piece->end); });
    const auto same = [](const Piece* one, const Piece* other) { // where details meet
        return std::tie(one->begin, one->end, one->name) == std::tie(other->begin, other->end, other->name);
    };
    work.erase(std::unique(work.begin(), work.end(), same), work.end());
    Stretches result;
    std::size_t next = 0;
    for (const Interval& interval : intervals_) {
        const double bytes = std::max(0.0, interval.up - interval.prefetched_up);
        double left =
            interval.device_faults > 0 ? rates.device_fault_ns + bytes / rates.fault_to_device * 1e9 : 0;
        while (next < work.size() && work[next]->end <= interval.begin)
            ++next;
        if (left > 0 && (next == work.size() || work[next]->begin >= interval.end)) // nothing is known of it
            result.emplace_back(interval.begin, std::min(interval.end, interval.begin + left));
        for (std::size_t i = next; i < work.size() && work[i]->begin < interval.end && left > 0; ++i) {
            const double begin = std::max(work[i]->begin, interval.begin);
            const double end = std::min({work[i]->end, interval.end, begin + left});
            if (end > begin)
                result.emplace_back(begin, end);
            left -= std::max(0.0, end - begin);
        }
    }
    return tidy(std::move(result));
}

/// The same for the host, after each recorded fault; and the link's traffic, while either waits for it.
FaultTimes::ByThread FaultTimes::follow(Timeline& timeline, const machine::Rates& rates,
                                        const Stretches& stalled) {
    std::ranges::sort(faults_, {}, &HostFault::time);
    // The most that the link carries, bytes a nanosecond.
    const double up_rate = std::max(rates.pinned_to_device, rates.prefetch_to_device) / 1e9;
    const double down_rate = std::max(rates.device_to_pinned, rates.prefetch_to_host) / 1e9;
    ByThread result;
    std::size_t next = 0, next_stall = 0;
    for (const Interval& interval : intervals_) {
        const double bytes = std::max(0.0, interval.down - interval.prefetched_down);
        const double price = interval.host_faults * rates.host_fault_ns +
                             (interval.host_faults > 0 ? bytes / rates.prefetch_to_host * 1e9 : 0);
        while (next < faults_.size() && faults_[next].time < interval.begin)
            ++next;
        std::size_t last = next;
        while (last < faults_.size() && faults_[last].time < interval.end)
            ++last;
        const double told = static_cast<double>(last - next);
        Stretches here;
        for (std::size_t i = next; i < last; ++i) {
            double end = std::min(faults_[i].time + price / told, interval.end);
            if (i + 1 < last)
                end = std::min(end, faults_[i + 1].time);
            if (end <= faults_[i].time)
                continue;
            HostStalls& of_thread = result[faults_[i].tid];
            of_thread.stretches.emplace_back(faults_[i].time, end);
            of_thread.by_code[faults_[i].code] += end - faults_[i].time;
            here.emplace_back(faults_[i].time, end);
        }
        next = last;
        while (next_stall < stalled.size() && stalled[next_stall].second <= interval.begin)
            ++next_stall;
        spread(timeline, true, interval, within(stalled, next_stall, interval.begin, interval.end), interval.up,
               up_rate);
        spread(timeline, false, interval, here, interval.down, down_rate);
    }
    for (auto& [tid, host] : result)
        host.stretches = tidy(std::move(host.stretches));
    return result;
}

void FaultTimes::place(Timeline& timeline, const machine::Rates& rates) {
    const Stretches stalled = stalls(timeline, rates);
    const ByThread by_thread = follow(timeline, rates, stalled);
    // All pieces are in the row of a thread or a stream, or in what is kept of it.
    const States waits{state(Cause::kernels), state(Cause::copies)}, code{state(Cause::code)},
        work{state(Work::kernel), state(Work::copy)};
    for (std::uint32_t i = 0; i < timeline.threads.size(); ++i) {
        ThreadRow* const thread = timeline.threads[i].get();
        if (thread == nullptr)
            continue;
        const auto found = by_thread.find(thread->tid);
        const HostStalls& host = found == by_thread.end() ? HostStalls() : found->second;
        const Stretches& faults = host.stretches;
        thread->causes.overlay(waits, state(Cause::device_faults), stalled);
        thread->causes.overlay(code, state(Cause::host_faults), faults);
        thread->times.take_faults(thread->causes, host.by_code);
        for (auto& [stack, detail] : timeline.details) {
            std::vector<Piece>& pieces = detail.causes[i];
            pieces = overlaid(std::move(pieces), waits, state(Cause::device_faults), stalled);
            pieces = overlaid(std::move(pieces), code, state(Cause::host_faults), faults);
        }
    }
    for (const auto& stream : timeline.streams)
        if (stream)
            stream->work.overlay(work, state(Work::stalled), stalled);
    for (auto& [stack, detail] : timeline.details)
        for (auto& [number, pieces] : detail.work)
            pieces = overlaid(std::move(pieces), work, state(Work::stalled), stalled);
}

} // namespace umadvisor::html
