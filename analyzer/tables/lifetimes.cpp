#include "analyzer/tables/lifetimes.hpp"
#include "analyzer/facts/waiting.hpp"

#include "analyzer/facts/direction.hpp"
#include "analyzer/ids/call_site.hpp"

#include <algorithm>
#include <utility>

namespace umadvisor::tables {
namespace {

/// An allocation that was idle for less than this part of its life may well stay where it is.
constexpr std::uint64_t least_idle_share = 4;
/// Uses that are this close, relative to the life, count as one.
constexpr std::uint64_t once_share = 100;
/// This many allocations from one line are no accident.
constexpr std::size_t least_leaked = 8;
/// Allocations of one size whose turn may still come, and all of them.
constexpr std::size_t most_made_alike = 1024, most_made = 131'072;

/// The bytes from the copy's first to its last, gaps between rows included.
std::uint64_t span_of(const trace::Copy& copy, std::uint64_t pitch) {
    return copy.width == 0 || pitch == 0
               ? copy.bytes
               : pitch * (copy.height * std::max<std::uint64_t>(copy.depth, 1) - 1) + copy.width;
}

} // namespace

bool is_about_time(Waste waste) {
    return waste == Waste::reusable || waste == Waste::used_once || waste == Waste::idle;
}

const WasteTotals* LifetimeTotals::find(Waste waste) const {
    const WasteTotals& totals = wasted[static_cast<std::size_t>(waste)];
    return totals.count != 0 && totals.peak_at == peak->at ? &totals : nullptr;
}

bool Lifetimes::is_followed(const trace::Alloc& record) const {
    return record.status == 0 && record.captured == 0 && record.part == 0 && record.symbol == 0 &&
           record.origin == trace::Origin::program &&
           (record.memory == trace::Memory::device || facts::is_page_locked(record.memory)) &&
           !dictionary_.is_stream_ordered(record.entry);
}

void Lifetimes::add(const trace::Alloc& record) {
    if (!is_followed(record))
        return;
    const std::uint64_t made_at = record.start + record.duration;
    PeakMemory& peak = peaks_[{record.memory, record.device}];
    peak.live_bytes += record.bytes;
    if (peak.live_bytes > peak.peak_bytes) {
        peak.peak_bytes = peak.live_bytes;
        peak.at = made_at;
    }
    Site& site = sites_.entry({ids::CallSite::of(record), record.device, record.memory});
    site.second.peak = &peak;
    if (facts::is_page_locked(record.memory))
        lock(site.second.locked, record);
    live_[record.allocation] = {.site = &site,
                                .peak = &peak,
                                .address = record.address,
                                .bytes = record.bytes,
                                .start = made_at,
                                .lock_ticks = record.duration,
                                .call_ticks = record.duration,
                                .slot = peak.use.add(record.bytes)};
    if (record.memory == trace::Memory::device)
        remember({made_at, ids::StackId::of(record), record.allocation}, record.device, record.bytes);
}

void Lifetimes::lock(LockedTotals& site, const trace::Alloc& record) {
    const auto device = std::ranges::find(dictionary_.devices, record.device, &trace::Device::ordinal);
    const bool far = record.node != 0 && device != dictionary_.devices.end() && device->node != 0 &&
                     device->node != record.node;
    site.add(record, far);
    locked_.add(record, far);
}

void Lifetimes::remember(const Made& one, std::uint64_t device, std::uint64_t bytes) {
    if (made_count_ == most_made / 2) {
        made_before_ = std::exchange(made_, {});
        made_count_ = 0;
    }
    std::vector<Made>& made = made_[{device, bytes}];
    if (made.size() == most_made_alike) {
        made.erase(made.begin(), made.begin() + most_made_alike / 2);
        made_count_ -= most_made_alike / 2;
    }
    made.push_back(one);
    ++made_count_;
}

void Lifetimes::add(const trace::Free& record) {
    Live* const found = live_.find(record.allocation);
    if (record.status != 0 || record.captured != 0 || found == nullptr)
        return;
    Live& live = *found;
    live.call_ticks += record.duration;
    // The program has not waited: work that uses it may have run until now.
    if (live.awaited)
        live.last_use = record.start;
    end_use(live);
    // The call that frees it may end its context, or may have waited for the device.
    count_lock(live, record.part == 0 && awaited_.empty() ? record.duration : 0);
    judge(record.allocation, live, record.start);
    live.peak->live_bytes -= live.bytes;
    live_.erase(record.allocation);
    wait(record.start + record.duration);
}

void Lifetimes::use(trace::AllocationId allocation, Live& live, std::uint64_t start, std::uint64_t end) {
    // Work that the trace does not describe in full may have used it before.
    if (live.first_use == 0 && live.start > unknown_until_)
        live.peak->use.begin(live.slot);
    else
        live.peak->use.extend(live.slot);
    if (live.first_use == 0)
        live.first_use = start;
    live.last_use = std::max(live.last_use, end);
    if (!live.awaited) {
        live.awaited = true;
        awaited_.push_back(allocation);
    }
}

void Lifetimes::end_use(const Live& live) {
    if (live.awaited || live.start <= unknown_until_)
        live.peak->use.extend(live.slot);
    live.peak->use.remove(live.slot);
}

void Lifetimes::wait(std::uint64_t end) {
    ++generation_;
    for (const trace::AllocationId allocation : awaited_)
        if (Live* const live = live_.find(allocation)) {
            live->awaited = false;
            live->last_use = std::max(live->last_use, end);
            live->peak->use.extend(live->slot);
        }
    awaited_.clear();
}

void Lifetimes::launch(const trace::Launch& record, const reader::Shape* shape) {
    if (record.status != 0 || (shape != nullptr && shape->captured))
        return;
    if (shape == nullptr || !shape->scanned || shape->untold != 0) {
        untold(record.start);
        return;
    }
    Recent& recent = recent_[shape->number % recent_.size()];
    if (recent.shape == shape && recent.generation == generation_ &&
        static_cast<double>(record.start - recent.start) < close_ticks_)
        return;
    recent = {shape, generation_, record.start};
    for (const trace::AllocationId allocation : shape->touched)
        if (Live* const live = live_.find(allocation)) {
            live->reached_by_kernel = true;
            use(allocation, *live, record.start, record.start);
        }
}

void Lifetimes::reach(trace::AllocationId allocation, std::uint64_t address, std::uint64_t bytes,
                      std::uint64_t start, std::uint64_t end) {
    Live* const found = live_.find(allocation);
    if (!known(allocation) || found == nullptr)
        return;
    Live& live = *found;
    const std::uint64_t low = address - std::min(live.address, address);
    live.low = std::min(live.low, low);
    live.high = std::max(live.high, low + bytes);
    use(allocation, live, start, end);
}

/// Of the allocations of its size that were made after its last use, the first.
std::optional<Lifetimes::Made> Lifetimes::take_later(trace::AllocationId allocation, const Live& live) {
    for (MadeBySize* const sizes : {&made_before_, &made_}) {
        const auto alike = sizes->find({live.site->first.device, live.bytes});
        if (alike == sizes->end())
            continue;
        std::vector<Made>& made = alike->second;
        const auto found = std::ranges::find_if(made, [&](const Made& each) {
            return each.allocation != allocation && each.start > live.last_use && each.start <= live.peak->at;
        });
        if (found == made.end())
            continue;
        const Made taken = *found;
        made.erase(found);
        made_count_ -= sizes == &made_;
        return taken;
    }
    return std::nullopt;
}

WasteTotals& Lifetimes::count(const Live& live, Waste waste, std::uint64_t bytes, std::uint64_t idle,
                              std::uint64_t end) {
    WasteTotals& totals = live.site->second.wasted[static_cast<std::size_t>(waste)];
    if (totals.peak_at != live.peak->at) // what was wasted at a lower peak does not matter
        totals = {.peak_at = live.peak->at};
    ++totals.count;
    totals.bytes += bytes;
    totals.held_bytes += live.bytes;
    totals.idle_ticks += idle;
    totals.life_ticks += end - live.start;
    totals.call_ticks += live.call_ticks;
    return totals;
}

/// True: at the peak its first use was far ahead, or its last use long past.
bool Lifetimes::judge_use(trace::AllocationId allocation, const Live& live, std::uint64_t end) {
    const bool done = live.last_use <= live.peak->at;
    const std::uint64_t idle = done                             ? end - live.last_use
                               : live.first_use > live.peak->at ? live.first_use - live.start
                                                                : 0;
    const std::uint64_t life = end - live.start;
    if (idle == 0 || idle < life / least_idle_share)
        return false;
    if (done) {
        if (const std::optional<Made> later = take_later(allocation, live)) {
            count(live, Waste::reusable, live.bytes, idle, end).other = later->stack;
            return true;
        }
    }
    const bool once = live.last_use - live.first_use <= life / once_share;
    count(live, once ? Waste::used_once : Waste::idle, live.bytes, idle, end);
    return true;
}

void Lifetimes::judge(trace::AllocationId allocation, const Live& live, std::uint64_t end) {
    if (live.start <= unknown_until_ || live.start > live.peak->at || end < live.peak->at)
        return;
    if (live.first_use == 0) {
        count(live, Waste::never_used, live.bytes, end - live.start, end);
        return;
    }
    // What the host does with its memory is not known.
    if (live.site->first.memory == trace::Memory::device && judge_use(allocation, live, end))
        return;
    if (!live.reached_by_kernel && live.high - live.low < live.bytes / 2)
        count(live, Waste::oversized, live.bytes - (live.high - live.low), 0, end);
}

std::vector<IdleHolding> Lifetimes::idle(std::uint64_t now) const {
    std::map<ids::CallSite, IdleHolding> lines;
    for (const auto& [allocation, live] : live_) {
        const LifetimeSite& site = live.site->first;
        if (paused_ || site.memory != trace::Memory::device || live.first_use == 0 || live.awaited ||
            live.start <= unknown_until_ || now <= live.last_use)
            continue;
        const std::uint64_t ticks = now - live.last_use;
        if (static_cast<double>(ticks) < close_ticks_ || ticks < (now - live.start) / least_idle_share)
            continue;
        IdleHolding& line = lines.try_emplace(site, IdleHolding{site, 0, ticks}).first->second;
        line.bytes += live.bytes;
        line.ticks = std::min(line.ticks, ticks);
    }
    std::vector<IdleHolding> all;
    for (const auto& [key, line] : lines)
        all.push_back(line);
    return all;
}

/// Moves the leaked ones out of live_.
void Lifetimes::judge_leaks(std::uint64_t end) {
    std::map<const Site*, std::vector<std::pair<std::uint64_t, trace::AllocationId>>> left;
    for (const auto& [allocation, live] : live_)
        if (live.start > unknown_until_)
            left[live.site].emplace_back(live.start, allocation);
    for (auto& [site, made] : left) {
        std::ranges::sort(made);
        std::vector<trace::AllocationId> leaked;
        for (std::size_t i = 0; i + 1 < made.size(); ++i)
            if (live_[made[i].second].last_use < made[i + 1].first)
                leaked.push_back(made[i].second);
        if (leaked.size() < least_leaked)
            continue;
        for (const trace::AllocationId allocation : leaked) {
            const Live& live = live_[allocation];
            if (live.start <= live.peak->at)
                count(live, Waste::leaked, live.bytes, end - std::max(live.start, live.last_use), end);
            live_.erase(allocation);
        }
    }
}

void Lifetimes::finish(std::uint64_t end) {
    if (paused_)
        untold(end);
    for (auto& [allocation, live] : live_)
        if (live.awaited)
            live.last_use = end;
    for (const auto& [allocation, live] : live_) {
        end_use(live);
        count_lock(live, 0);
    }
    judge_leaks(end);
    for (const auto& [allocation, live] : live_)
        judge(allocation, live, std::max(end, live.start));
    live_.clear();
    share_out();
}

/// Memory that lies idle at the peak may be needed at another time, when other memory is not. All idle memory
/// together lowers the peak at most to what is in use at once.
void Lifetimes::share_out() {
    struct Wasted {
        std::uint64_t idle = 0, other = 0; ///< bytes; other: of no use at any time
    };
    std::map<const PeakMemory*, Wasted> all;
    for (const auto& [site, totals] : sites_.map())
        for (const Waste waste :
             {Waste::never_used, Waste::leaked, Waste::reusable, Waste::used_once, Waste::idle})
            if (const WasteTotals* const found = totals.find(waste)) {
                Wasted& wasted = all[totals.peak];
                (is_about_time(waste) ? wasted.idle : wasted.other) += found->bytes;
            }
    for (auto& [place, peak] : peaks_) {
        const Wasted& wasted = all[&peak];
        const std::uint64_t needed = peak.use.bytes() + wasted.other;
        const std::uint64_t spare = peak.peak_bytes - std::min(peak.peak_bytes, needed);
        if (spare < wasted.idle)
            peak.spare_share = static_cast<double>(spare) / static_cast<double>(wasted.idle);
    }
}

void Lifetimes::add(const trace::Copy& record) {
    if (record.status != 0 || record.captured != 0)
        return;
    const std::uint64_t end = record.start + record.duration;
    reach(record.source_allocation, record.source, span_of(record, record.source_pitch), record.start, end);
    reach(record.destination_allocation, record.destination, span_of(record, record.destination_pitch),
          record.start, end);
    copied(record, record.source_allocation, true);
    copied(record, record.destination_allocation, false);
    if (record.asynchronous == 0)
        wait(end);
}

void Lifetimes::copied(const trace::Copy& record, trace::AllocationId allocation, bool up) {
    Live* const live = live_.find(allocation);
    if (live == nullptr || !facts::is_page_locked(live->site->first.memory))
        return;
    ++live->copies;
    (up ? live->up_bytes : live->down_bytes) += record.bytes;
    live->used_otherwise |= record.asynchronous != 0 ||
                            !facts::is_device_memory(up ? record.destination_memory : record.source_memory);
}

void Lifetimes::count_lock(const Live& live, std::uint64_t unlock_ticks) {
    if (!facts::is_page_locked(live.site->first.memory))
        return;
    for (LockedTotals* const locked : {&live.site->second.locked, &locked_}) {
        --locked->live;
        locked->live_bytes -= live.bytes;
        locked->unlock_ticks += unlock_ticks;
        locked->copied_bytes += std::min(live.bytes, live.high - std::min(live.low, live.high));
        locked->by_kernels |= live.reached_by_kernel;
        locked->unknown |= live.start <= unknown_until_;
    }
    LockTotals& totals = live.site->second.lock;
    totals.needed |= live.used_otherwise || live.reached_by_kernel || live.start <= unknown_until_;
    if (live.copies == 0)
        return;
    ++totals.count;
    totals.bytes += live.bytes;
    totals.lock_ticks += live.lock_ticks;
    totals.unlock_ticks += unlock_ticks;
    totals.late_bytes += unlock_ticks == 0 ? live.bytes : 0;
    totals.copies += live.copies;
    totals.up_bytes += live.up_bytes;
    totals.down_bytes += live.down_bytes;
}

void Lifetimes::add(const trace::Set& record) {
    if (Live* const live = live_.find(record.allocation))
        live->used_otherwise = true;
    if (record.status == 0 && record.captured == 0)
        reach(record.allocation, record.address,
              record.height > 1 ? record.pitch * (record.height - 1) + record.width : record.bytes,
              record.start, record.start + record.duration);
}

void Lifetimes::add(const trace::Sync& record) {
    if (record.status == 0 && facts::waits_for_work(record))
        wait(record.start + record.duration);
}

/// A stream waits for flags in memory, or writes them.
void Lifetimes::add(const trace::Stream& record) {
    if (record.address != 0 || record.action == trace::StreamAction::memory_operations)
        untold(record.start);
}

void Lifetimes::add(const trace::Pause& record) {
    untold(record.start);
    paused_ = record.recording == 0;
}

} // namespace umadvisor::tables
