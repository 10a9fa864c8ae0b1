#include "analyzer/rules/allocation/churn.hpp"

#include <algorithm>
#include <utility>
#include <vector>

namespace umadvisor::rules {
namespace {

/// The driver manages managed memory in blocks of this size ("VA block").
constexpr std::uint64_t slab_block_bytes = 2 * 1024 * 1024;

std::optional<Made> made_of(trace::Memory memory) {
    switch (memory) {
    case trace::Memory::device:
        return Made::device;
    case trace::Memory::managed:
        return Made::managed;
    case trace::Memory::pinned:
        return Made::pinned;
    case trace::Memory::registered:
        return Made::registered;
    default:
        return std::nullopt;
    }
}

} // namespace

double ChurnTotals::own_free_ticks() const {
    if (busy_frees == 0)
        return static_cast<double>(idle_ticks);
    const double usual = idle_frees != 0 ? static_cast<double>(idle_ticks) / static_cast<double>(idle_frees)
                                         : static_cast<double>(quickest_busy);
    return static_cast<double>(idle_ticks) +
           std::min(static_cast<double>(busy_ticks), usual * static_cast<double>(busy_frees));
}

double ChurnTotals::kept_ticks() const {
    if (largest_pairs == 0)
        return 0;
    const double all_frees = static_cast<double>(free_ticks());
    const double frees =
        all_frees > 0 ? own_free_ticks() * static_cast<double>(largest_free_ticks) / all_frees : 0;
    return static_cast<double>(peak_live) * (static_cast<double>(largest_alloc_ticks) + frees) /
           static_cast<double>(largest_pairs);
}

double ChurnTotals::slab_ticks() const {
    if (pairs == 0)
        return 0;
    const double blocks = static_cast<double>(peak_bytes / slab_block_bytes + 1);
    return blocks * (static_cast<double>(alloc_ticks + upkeep_ticks) + own_free_ticks()) /
           static_cast<double>(pairs);
}

Churn::Live Churn::begin(const ChurnSite& site, std::uint64_t start, std::uint64_t duration,
                         std::uint64_t bytes) {
    ChurnTotals& totals = sites_[site];
    totals.peak_live = std::max(totals.peak_live, ++totals.live);
    totals.live_bytes += bytes;
    totals.peak_bytes = std::max(totals.peak_bytes, totals.live_bytes);
    if (totals.first == 0)
        totals.first = start;
    Live live;
    live.totals = &totals;
    live.start = start;
    live.duration = duration;
    live.bytes = bytes;
    return live;
}

void Churn::forget(const Live& live) {
    --live.totals->live;
    live.totals->live_bytes -= live.bytes;
}

template <class Record>
void Churn::end(const Live& live, const Record& call, std::uint64_t ticks) {
    ChurnTotals& totals = *live.totals;
    forget(live);
    ++totals.pairs;
    totals.bytes += live.bytes;
    totals.alloc_ticks += live.duration;
    totals.upkeep_calls += live.upkeep_calls;
    totals.upkeep_ticks += live.upkeep_ticks;
    totals.lifetime_ticks += call.start - std::min(call.start, live.start);
    totals.last = std::max(totals.last, call.start + call.duration);
    totals.uses += live.uses;
    totals.built_ticks += live.built_ticks;
    totals.alike += live.content != 0 && live.content == std::exchange(totals.content, live.content);
    if (live.bytes > totals.largest_bytes)
        totals.largest_pairs = totals.largest_alloc_ticks = totals.largest_free_ticks = 0;
    if (live.bytes >= totals.largest_bytes) {
        totals.largest_bytes = live.bytes;
        ++totals.largest_pairs;
        totals.largest_alloc_ticks += live.duration + live.upkeep_ticks;
        totals.largest_free_ticks += ticks;
    }
    totals.free_stack = ids::StackId::of(call);
    totals.free_entry = call.entry;
    if (queued_) {
        totals.quickest_busy = totals.busy_frees == 0 ? ticks : std::min(totals.quickest_busy, ticks);
        ++totals.busy_frees;
        totals.busy_ticks += ticks;
    } else {
        ++totals.idle_frees;
        totals.idle_ticks += ticks;
    }
}

template <class Record>
void Churn::end(LiveByKey& alive, std::uint64_t key, const Record& call) {
    const Live* const found = alive.find(key);
    if (call.status != 0 || found == nullptr)
        return;
    const Live live = *found;
    alive.erase(key);
    end(live, call, call.duration);
}

template <class Record>
void Churn::make(LiveByKey& alive, std::uint64_t key, Made made, const Record& call) {
    if (call.status != 0 || key == 0)
        return;
    if (const Live* const old = alive.find(key)) // its end went unseen
        forget(*old);
    alive[key] = begin({ids::CallSite::of(call), made, 0}, call.start, call.duration, 0);
}

void Churn::add(const trace::Alloc& record) {
    const std::optional<Made> made = made_of(record.memory);
    if (record.status != 0 || record.captured != 0 || record.part != 0 || !made ||
        record.origin != trace::Origin::program || record.symbol != 0 ||
        dictionary_.is_stream_ordered(record.entry))
        return;
    memory_[number(record.allocation)] =
        begin({ids::CallSite::of(record), *made, 0}, record.start, record.duration, record.bytes);
}

void Churn::add(const trace::Free& record) {
    const Live* const found = memory_.find(number(record.allocation));
    if (record.status != 0 || record.captured != 0 || found == nullptr)
        return;
    const Live live = *found;
    memory_.erase(number(record.allocation));
    if (record.part != 0) { // what freed it has a record of its own: the end of a context
        forget(live);
        return;
    }
    end(live, record, record.duration);
    queued_ = false; // it has waited for all of it
}

void Churn::add(const trace::Advise& record) {
    Live* const live = memory_.find(number(record.allocation));
    if (record.status != 0 || record.origin != trace::Origin::program || live == nullptr)
        return;
    ++live->upkeep_calls;
    live->upkeep_ticks += record.duration;
}

void Churn::add(const trace::Stream& record) {
    if (record.action == trace::StreamAction::create)
        make(streams_, number(record.stream), Made::stream, record);
    else if (record.action == trace::StreamAction::destroy)
        end(streams_, number(record.stream), record);
}

void Churn::add(const trace::Event& record) {
    if (record.action == trace::EventAction::create)
        make(events_, record.event, Made::event, record);
    else if (record.action == trace::EventAction::destroy)
        end(events_, record.event, record);
}

void Churn::add(const trace::Graph& record) {
    if (record.status != 0)
        return;
    if (record.action == trace::GraphAction::begin_capture) {
        begun_[record.stream] = record.start;
    } else if (record.action == trace::GraphAction::end_capture) {
        if (const auto begun = begun_.find(record.stream); begun != begun_.end()) {
            built_[record.graph] = record.start + record.duration - std::min(record.start, begun->second);
            begun_.erase(begun);
        }
    } else if (record.action == trace::GraphAction::instantiate) {
        instantiate(record);
    } else if (record.action == trace::GraphAction::update) {
        if (Live* const live = graphs_.find(record.exec); live != nullptr && record.version != 0)
            execs_[live->version = record.version] = record.exec;
    } else if (const Live* const live = graphs_.find(record.exec)) {
        execs_.erase(live->version);
        end(graphs_, record.exec, record);
    }
}

/// Graphs of which not all nodes are known, or that began as a change of another, are left out: whether one
/// could have been updated into the next is unknown.
void Churn::instantiate(const trace::Graph& record) {
    if (const Live* const old = graphs_.find(record.exec)) {
        forget(*old);
        graphs_.erase(record.exec);
    }
    std::uint64_t built = 0;
    if (const auto found = built_.find(record.graph); found != built_.end()) {
        built = found->second;
        built_.erase(found);
    }
    const auto version = dictionary_.graph_versions.find(record.version);
    if (version == dictionary_.graph_versions.end() || version->second.base != 0 || version->second.untold != 0)
        return;
    Live live = begin({ids::CallSite::of(record), Made::graph, version->second.shape | 1}, record.start,
                      record.duration, version->second.nodes.size());
    live.built_ticks = built;
    live.content = version->second.content | 1;
    live.version = record.version;
    graphs_[record.exec] = live;
    execs_[record.version] = record.exec;
}

void Churn::add(const trace::GraphLaunch& record) {
    queued_ = true;
    if (record.status != 0 || record.captured != 0)
        return;
    if (const std::uint64_t* const exec = execs_.find(record.version))
        if (Live* const live = graphs_.find(*exec))
            ++live->uses;
}

void Churn::add(const trace::VirtualMemory& record) {
    if (record.status != 0)
        return;
    switch (record.action) {
    case trace::VirtualMemoryAction::create:
        handles_[record.handle] = {record.duration, 0, nullptr};
        break;
    case trace::VirtualMemoryAction::map:
        map(record);
        break;
    case trace::VirtualMemoryAction::set_access:
        set_access(record);
        break;
    case trace::VirtualMemoryAction::unmap:
        unmap(record);
        break;
    case trace::VirtualMemoryAction::release:
        release(record);
        break;
    default:
        break;
    }
}

void Churn::map(const trace::VirtualMemory& record) {
    Handle& handle = handles_[record.handle];
    Live& live = mappings_[record.address];
    if (live.totals != nullptr)
        forget(live);
    live = begin({ids::CallSite::of(record), Made::mapping, 0}, record.start,
                 record.duration + std::exchange(handle.ticks, 0), record.bytes);
    handle.mapped = record.address;
    handle.totals = live.totals;
}

void Churn::set_access(const trace::VirtualMemory& record) {
    const auto first = mappings_.lower_bound(record.address);
    const auto last = mappings_.lower_bound(record.address + record.bytes);
    const auto pieces = static_cast<std::uint64_t>(std::distance(first, last));
    for (auto each = first; each != last; ++each) {
        ++each->second.upkeep_calls;
        each->second.upkeep_ticks += record.duration / pieces;
    }
}

void Churn::unmap(const trace::VirtualMemory& record) {
    const auto first = mappings_.lower_bound(record.address);
    const auto last = mappings_.lower_bound(record.address + record.bytes);
    const auto pieces = static_cast<std::uint64_t>(std::distance(first, last));
    for (auto each = first; each != last; ++each)
        end(each->second, record, record.duration / pieces);
    mappings_.erase(first, last);
}

void Churn::release(const trace::VirtualMemory& record) {
    const auto handle = handles_.find(record.handle);
    if (handle == handles_.end())
        return;
    const auto piece = mappings_.find(handle->second.mapped);
    if (piece != mappings_.end() && piece->second.totals == handle->second.totals)
        piece->second.upkeep_ticks += record.duration;
    else if (handle->second.totals != nullptr)
        handle->second.totals->upkeep_ticks += record.duration;
    handles_.erase(handle);
}

} // namespace umadvisor::rules
