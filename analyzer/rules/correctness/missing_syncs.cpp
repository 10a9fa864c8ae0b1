#include "analyzer/rules/correctness/missing_syncs.hpp"

#include "analyzer/facts/contexts.hpp"
#include "analyzer/ids/call_site.hpp"
#include "analyzer/managed/verdict.hpp"
#include "analyzer/reader/saturated.hpp"

#include <algorithm>
#include <iterator>

namespace umadvisor::rules {
namespace {

using managed::page;

constexpr std::size_t most_freed = 64, most_windows = 8, most_reads = 64, most_small_reads = 4096;
constexpr std::size_t most_streams = 64;

/// No handles: they come before all of those (FORMAT.md).
bool is_default_stream(trace::StreamId stream) {
    return stream <= facts::stream_of_the_thread;
}

} // namespace

bool MissingSyncs::Memory::holds(std::uint64_t place, std::uint64_t time) const {
    return address / page <= place / page && place - std::min(place, address) < bytes && from <= time &&
           time <= until;
}

void MissingSyncs::add(const trace::Alloc& record) {
    if (record.status != 0)
        return;
    written_.add(record);
    if (record.memory == trace::Memory::managed) {
        on_purpose_ |= record.symbol != 0;
        retire(record.allocation, record.start);
        by_address_.insert_or_assign(record.address, record.allocation);
        live_.insert_or_assign(record.allocation, Memory{.site = {ids::CallSite::of(record), record.symbol,
                                                                  record.memory, record.origin},
                                                         .address = record.address,
                                                         .bytes = record.bytes,
                                                         .from = record.start});
    }
}

void MissingSyncs::add(const trace::Free& record) {
    if (record.status != 0)
        return;
    retire(record.allocation, record.start);
    if (!dictionary_.is_stream_ordered(record.entry))
        close_all(record.start, false);
}

void MissingSyncs::retire(trace::AllocationId allocation, std::uint64_t time) {
    const auto found = live_.find(allocation);
    if (found == live_.end())
        return;
    found->second.until = time;
    close(found->second, time, false);
    open_.erase(allocation);
    if (const auto at = by_address_.find(found->second.address);
        at != by_address_.end() && at->second == allocation)
        by_address_.erase(at);
    freed_.push_back(std::move(found->second));
    live_.erase(found);
    if (freed_.size() > most_freed) {
        judge(freed_.front());
        freed_.pop_front();
    }
}

void MissingSyncs::add(const Launched& launched) {
    const trace::Launch& record = launched.record;
    if (live_.empty() || record.status != 0 || launched.shape == nullptr)
        return;
    const reader::Shape& shape = *launched.shape;
    const bool known = shape.scanned && shape.untold == 0 &&
                       std::ranges::none_of(shape.touched, [this](trace::AllocationId allocation) {
                           const trace::Alloc* const made = allocated_.find(allocation);
                           return made != nullptr && made->memory != trace::Memory::managed &&
                                  made->memory != trace::Memory::device;
                       });
    if (!known) {
        unknown_launch_ = record.start;
        return close_all(record.start, true);
    }
    std::size_t index = 0;
    for (const trace::AllocationId allocation : shape.touched) {
        const std::size_t place = index++;
        const auto found = live_.find(allocation);
        if (found == live_.end())
            continue;
        Memory& memory = found->second;
        if (memory.streams.size() < most_streams)
            memory.streams.insert(shape.stream);
        Window* const last = memory.windows.empty() ? nullptr : &memory.windows.back();
        if (last != nullptr && last->end == UINT64_MAX) {
            last->last_launch = record.start;
            if (written_.may_write(shape, place))
                last->last = {shape.function, shape.stack, shape.entry};
            continue;
        }
        if (last != nullptr)
            last->waited = true; // be it in a free of other memory: the program goes on
        if (written_.may_write(shape, place)) {
            if (memory.windows.size() == most_windows) {
                judge(memory, memory.windows.front());
                memory.windows.pop_front();
            }
            const facts::KernelSite kernel{shape.function, shape.stack, shape.entry};
            memory.windows.push_back({.begin = reader::saturated_sum(record.start, record.duration),
                                      .kernel = kernel,
                                      .last = kernel});
            open_.insert(allocation);
        }
    }
}

void MissingSyncs::close(Memory& memory, std::uint64_t time, bool waited) {
    if (memory.windows.empty() || memory.windows.back().end != UINT64_MAX)
        return;
    memory.windows.back().end = time;
    memory.windows.back().waited = waited;
}

void MissingSyncs::close_all(std::uint64_t time, bool waited) {
    for (const trace::AllocationId allocation : open_)
        close(live_.at(allocation), time, waited);
    open_.clear();
}

/// The wait for a stream shows nothing about memory that only kernels of other streams reach.
void MissingSyncs::add(const trace::Sync& record) {
    if (record.status != 0)
        return;
    const bool one = record.kind == trace::SyncKind::stream || record.kind == trace::SyncKind::stream_query;
    if (!one || joined_ || is_default_stream(record.of_stream()))
        return close_all(record.start, true);
    std::erase_if(open_, [&](trace::AllocationId allocation) {
        Memory& memory = live_.at(allocation);
        const bool waits = memory.streams.contains(record.of_stream()) ||
                           is_default_stream(*memory.streams.begin()) || memory.streams.size() == most_streams;
        if (waits)
            close(memory, record.start, true);
        return waits;
    });
}

void MissingSyncs::add(const trace::Copy& record) {
    const bool pageable =
        record.source_memory == trace::Memory::pageable || record.destination_memory == trace::Memory::pageable;
    if (record.asynchronous == 0 || pageable)
        close_all(record.start, true);
}

void MissingSyncs::add(const trace::Set& record) {
    if (record.asynchronous == 0)
        close_all(record.start, true);
}

/// By an event, one stream may wait for another.
void MissingSyncs::add(const trace::Event& record) {
    joined_ |=
        record.action == trace::EventAction::record || record.action == trace::EventAction::record_context;
}

MissingSyncs::Memory* MissingSyncs::find(std::uint64_t address, std::uint64_t time) {
    const auto behind = by_address_.upper_bound(address | (page - 1));
    if (behind != by_address_.begin())
        if (Memory& memory = live_.at(std::prev(behind)->second); memory.holds(address, time))
            return &memory;
    const auto found =
        std::ranges::find_if(freed_, [&](const Memory& memory) { return memory.holds(address, time); });
    return found == freed_.end() ? nullptr : &*found;
}

void MissingSyncs::add(const trace::ManagedEvent& record) {
    if (record.kind != trace::ManagedEventKind::host_fault)
        return;
    if (record.thread != 0) {
        on_purpose_ |= thread_ != 0 && thread_ != record.thread;
        thread_ = record.thread;
    }
    if (record.cause != static_cast<std::uint64_t>(trace::FaultAccess::read))
        return;
    Memory* const memory = find(record.address, record.start);
    if (memory == nullptr)
        return;
    for (Window& window : memory->windows) {
        if (record.start <= window.begin || record.start >= window.end)
            continue;
        if (memory->bytes <= page) {
            if (small_reads_.size() == most_small_reads)
                small_reads_.pop_front();
            small_reads_.push_back(record.start);
        }
        const bool behind_flag =
            !small_reads_.empty() && window.begin <= small_reads_.back() && small_reads_.back() < record.start;
        if (window.reads.size() < most_reads)
            window.reads.push_back(
                {record.start, record.code, reader::saturated_sum(record.count, 1), behind_flag});
    }
}

void MissingSyncs::judge(const Memory& memory, const Window& window) {
    if (memory.bytes <= page || memory.site.origin != trace::Origin::program)
        return;
    const auto flag = std::ranges::find_if(
        small_reads_, [&](std::uint64_t time) { return window.begin <= time && time < window.end; });
    const bool waited = window.waited || (window.end < memory.until && window.end < unknown_launch_);
    MissingSync seen;
    for (const Read& read : window.reads) {
        const bool missing = read.time < window.last_launch || !waited;
        if (!missing || read.behind_flag || (flag != small_reads_.end() && *flag < read.time))
            continue;
        reader::add_saturated(seen.reads, read.faults);
        reader::add_saturated(seen.codes[read.code], read.faults);
    }
    if (seen.reads == 0)
        return;
    MissingSync& site = sites_[memory.site];
    if (site.windows++ == 0) {
        site.kernel = window.kernel;
        site.last = window.last;
        site.bytes = memory.bytes;
    }
    reader::add_saturated(site.reads, seen.reads);
    for (const auto& [code, reads] : seen.codes)
        reader::add_saturated(site.codes[code], reads);
}

void MissingSyncs::judge(const Memory& memory) {
    for (const Window& window : memory.windows)
        judge(memory, window);
}

void MissingSyncs::finish() {
    for (const Memory& memory : freed_)
        judge(memory);
    for (const auto& [allocation, memory] : live_)
        judge(memory);
    if (on_purpose_)
        sites_.clear();
}

} // namespace umadvisor::rules
