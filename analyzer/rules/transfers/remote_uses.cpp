#include "analyzer/rules/transfers/remote_uses.hpp"

#include "analyzer/facts/direction.hpp"
#include "analyzer/reader/saturated.hpp"

#include <algorithm>
#include <utility>

namespace umadvisor::rules {
namespace {

using trace::Memory;

/// No host goes through its memory faster.
constexpr double host_bytes_per_ns = 100;

} // namespace

void RemoteReach::add(const RemoteReach& other) {
    count += other.count;
    writes += other.writes;
    for (const auto field : {&RemoteReach::bytes, &RemoteReach::remote_bytes, &RemoteReach::one_way_bytes,
                             &RemoteReach::local_bytes})
        reader::add_saturated(this->*field, other.*field);
}

void RemoteUses::add(const trace::Alloc& record) {
    written_.add(record);
    if (record.status != 0 || record.captured != 0)
        return;
    ++generation_;
    const bool mapped = record.part != 0 && dictionary_.symbol(record.entry) == "cuMemMap";
    if (!facts::is_page_locked(record.memory) || record.bytes < least_bytes ||
        record.origin != trace::Origin::program || (record.part != 0 && !mapped))
        return;
    const RemoteMemory site{ids::CallSite::of(record), mapped};
    live_[record.allocation] = {.memory = &*memory_.try_emplace(site).first,
                                .allocation = record.allocation,
                                .address = record.address,
                                .bytes = record.bytes};
    if (mapped)
        mapped_[record.address] = record.allocation;
}

void RemoteUses::add(const trace::Free& record) {
    if (record.status != 0 || record.captured != 0)
        return;
    ++generation_;
    if (Live* const live = live_.find(record.allocation)) {
        close(*live);
        if (live->memory->first.mapped)
            mapped_.erase(live->address);
        live_.erase(record.allocation);
    }
    if (!dictionary_.is_stream_ordered(record.entry))
        wait(record.start + record.duration);
}

void RemoteUses::add(const trace::Copy& record) {
    if (live_.empty() || record.status != 0 || record.captured != 0)
        return;
    with_neighbours(record.destination_allocation, [this](Live& live) { close(live); });
    with_neighbours(record.source_allocation, [this](Live& live) {
        if (live.span.may_write)
            close(live);
    });
    if (record.asynchronous == 0 || record.destination_memory == Memory::pageable)
        wait(record.start + record.duration);
}

/// Of mapped pieces a kernel may reach those behind the one that it is given.
template <class Act>
void RemoteUses::with_neighbours(trace::AllocationId allocation, const Act& act) {
    Live* const found = live_.find(allocation);
    if (found == nullptr)
        return;
    if (!found->memory->first.mapped)
        return act(*found);
    for (const auto& [address, piece] : mapped_)
        act(*live_.find(piece));
}

void RemoteUses::add(const trace::Set& record) {
    Live* const live = live_.find(record.allocation);
    if (live == nullptr || record.status != 0 || record.captured != 0)
        return;
    Work& work = *work_.try_emplace({ids::CallSite::of(record), {}}).first;
    ++work.second.launches.count;
    use(*live, work, {1, record.bytes, record.bytes, record.bytes, 0, 1}, record.start);
    live->span.may_write = true;
    live->span.set_first |= live->span.count == 1 && record.bytes >= live->bytes;
    if (record.asynchronous == 0)
        wait(record.start + record.duration);
}

/// A query that finds work done counts as a wait: after both, the host knows that it is done.
void RemoteUses::add(const trace::Sync& record) {
    if (record.status == 0)
        wait(record.start + record.duration);
}

/// Host and device may meet by such values.
void RemoteUses::add(const trace::Stream& record) {
    if (record.address != 0 || record.action == trace::StreamAction::memory_operations)
        close_all();
}

std::uint64_t RemoteUses::bytes_from(const Live& live) const {
    std::uint64_t end = live.address + live.bytes;
    if (live.memory->first.mapped)
        for (auto next = mapped_.find(end); next != mapped_.end(); next = mapped_.find(end))
            end += live_.find(next->second)->bytes;
    return end - live.address;
}

void RemoteUses::look(Recent& recent, const reader::Shape& shape) {
    recent = {.shape = &shape, .generation = generation_};
    RemoteReach all;
    std::uint64_t largest = 0, read = 0;
    for (std::size_t i = 0; i < shape.touched.size(); ++i) {
        const trace::AllocationId allocation = shape.touched[i];
        if (const trace::Alloc* const made = allocated_.find(allocation)) {
            recent.flags |= made->memory == Memory::managed ||
                            (facts::is_page_locked(made->memory) && made->bytes < least_bytes);
            if (made->memory == Memory::device)
                reader::add_saturated(all.local_bytes, made->bytes);
        }
        const Live* const live = live_.find(allocation);
        if (live == nullptr)
            continue;
        const std::uint64_t bytes = bytes_from(*live);
        reader::add_saturated(all.remote_bytes, bytes);
        largest = std::max(largest, bytes);
        const bool may_write = written_.may_write(shape, i);
        read += may_write ? 0 : bytes;
        recent.reached.push_back(
            {allocation, {.count = 1, .bytes = bytes, .writes = written_.only_written(shape) == i}, may_write});
    }
    for (Reached& reached : recent.reached) {
        reached.reach.remote_bytes = all.remote_bytes;
        reached.reach.one_way_bytes = std::max({largest, read, all.remote_bytes / 2});
        reached.reach.local_bytes = all.local_bytes;
    }
    if (!recent.reached.empty())
        recent.work = &*work_.try_emplace({ids::CallSite::of(shape), tables::Launches::group_of(shape)}).first;
}

void RemoteUses::reach_all(const trace::Launch& record, const reader::Shape& shape) {
    if (shape.function == 0)
        return;
    Recent& recent = recent_[shape.number % recent_.size()];
    if (recent.shape != &shape || recent.generation != generation_)
        look(recent, shape);
    flagged_ |= recent.flags;
    if (recent.work == nullptr)
        return;
    tables::LaunchTotals& launches = recent.work->second.launches;
    ++launches.count;
    samples_.await(record.sample, [&launches](std::uint64_t ns) { launches.measure(ns); });
    for (const Reached& reached : recent.reached) {
        Live& live = *live_.find(reached.allocation);
        use(live, *recent.work, reached.reach, record.start);
        live.span.by_kernel = true;
        live.span.may_write |= reached.may_write;
    }
}

bool RemoteUses::host_had_time(std::uint64_t ticks, std::uint64_t bytes) const {
    return static_cast<double>(ticks) * ns_per_tick_ * host_bytes_per_ns >= static_cast<double>(bytes) / 2;
}

void RemoteUses::use(Live& live, Work& work, const RemoteReach& reach, std::uint64_t start) {
    Span& span = live.span;
    const std::uint64_t since = span.wait_end != 0 ? span.wait_end : flagged_ ? span.last : start;
    if (span.count != 0 && host_had_time(start - std::min(start, since), reach.bytes))
        close(live);
    else if (span.wait_end != 0)
        ++span.waits;
    if (!std::exchange(live.awaited, true))
        awaited_.push_back(live.allocation);
    ++span.count;
    span.bytes = std::max(span.bytes, reach.bytes);
    span.last = start;
    span.wait_end = 0;
    const auto same = std::ranges::find(span.uses, &work, &Use::work);
    if (same != span.uses.end())
        same->reach.add(reach);
    else if (span.uses.size() < most_uses)
        span.uses.push_back({&work, reach});
}

void RemoteUses::wait(std::uint64_t end) {
    for (const trace::AllocationId allocation : awaited_)
        if (Live* const live = live_.find(allocation)) {
            live->awaited = false;
            live->span.wait_end = live->span.count != 0 ? end : 0;
        }
    awaited_.clear();
}

void RemoteUses::close(Live& live) {
    const Span span = std::exchange(live.span, {});
    if (span.count < 2 || !span.by_kernel)
        return;
    for (const Use& use : span.uses)
        use.work->second.again[live.memory->first].add(use.reach);
    RemoteSpans& spans = live.memory->second;
    ++spans.count;
    spans.largest = std::max(spans.largest, span.bytes);
    if (!span.set_first) {
        ++spans.uploads;
        reader::add_saturated(spans.up_bytes, span.bytes);
    }
    if (span.may_write) {
        ++spans.downloads;
        spans.waits += span.waits;
        reader::add_saturated(spans.down_bytes, span.bytes);
    }
}

void RemoteUses::close_all() {
    for (auto& [allocation, live] : live_)
        close(live);
}

} // namespace umadvisor::rules
