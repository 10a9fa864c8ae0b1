#include "analyzer/reports/html/timeline/placement.hpp"

#include "analyzer/reader/saturated.hpp"

#include <algorithm>

namespace umadvisor::html {
namespace {

constexpr std::uint64_t granule = 64 * 1024; ///< the driver moves no less for a fault
constexpr std::uint64_t page_bytes = 4096;

} // namespace

Placement::Live* Placement::find(const PlaceStep& step) {
    if (known(step.allocation))
        return live_.find(step.allocation);
    auto next = addresses_.upper_bound(step.address);
    if (next == addresses_.begin())
        return nullptr;
    Live* const live = live_.find(std::prev(next)->second);
    return live != nullptr && step.address - live->address < live->size ? live : nullptr;
}

void Placement::take(const PlaceStep& step) {
    using Kind = PlaceStep::Kind;
    if (step.kind == Kind::alloc)
        return alloc(step);
    if (step.kind == Kind::free)
        return free(step);
    if (step.kind == Kind::wait)
        return wait(step.time);
    Live* const live = find(step);
    if (live == nullptr)
        return;
    const std::uint64_t before = live->device();
    switch (step.kind) {
    case Kind::launch:
        if (live->memory != trace::Memory::managed)
            break;
        if (live->launched >= 0)
            settle_launch(*live);
        tell(*live, step.time);
        live->launched = step.time;
        live->waited = -1;
        live->front = 0;
        launched_.push_back(step.allocation);
        break;
    case Kind::work:
        work(*live, step);
        break;
    case Kind::copied:
        sink_.move(live->line, live->number, step.time, step.up, MoveCause::copy, step.bytes);
        break;
    case Kind::look:
        look(*live, step);
        break;
    case Kind::host_fault:
        fault(*live, step);
        break;
    case Kind::migration:
        migrate(*live, step);
        break;
    case Kind::prefetch:
        prefetch(*live, step);
        break;
    case Kind::mapped:
        tell(*live, step.time);
        live->mapped = true;
        break;
    case Kind::duplicated: {
        tell(*live, step.time);
        const std::uint64_t there = std::min(step.bytes, live->device());
        const std::uint64_t here = std::min(step.bytes - there, live->host);
        live->host -= here;
        live->both += there + here;
        break;
    }
    default:
        break;
    }
    if (live->memory == trace::Memory::managed) {
        resident_ += live->device() - before; // wraps when it shrinks, and is right again
        if (live->device() != before)
            count(step.time);
    }
}

void Placement::count(double time) {
    sink_.use(time, allocated_, resident_);
}

void Placement::alloc(const PlaceStep& step) {
    if (step.bytes == 0)
        return;
    if (step.line >= numbers_.size())
        numbers_.resize(step.line + 1);
    PlaceStep before;
    before.kind = PlaceStep::Kind::free;
    before.time = step.time;
    before.allocation = step.allocation;
    free(before);
    Live live;
    live.id = step.allocation;
    live.line = step.line;
    live.number = numbers_[step.line]++;
    live.address = step.address;
    live.size = step.bytes;
    live.memory = step.memory;
    live.at = step.time;
    if (step.memory == trace::Memory::managed)
        live.unpopulated = live.size;
    else if (step.memory != trace::Memory::device && step.memory != trace::Memory::array)
        live.host = live.size;
    else
        allocated_ += live.size;
    if (step.memory == trace::Memory::managed)
        allocated_ += live.size;
    live_[step.allocation] = live;
    if (step.address != 0 && step.memory != trace::Memory::device) // no page of that faults or moves
        addresses_[step.address] = step.allocation;
    count(step.time);
}

void Placement::free(const PlaceStep& step) {
    Live* const found = live_.find(step.allocation);
    if (found == nullptr)
        return;
    Live& live = *found;
    const std::uint64_t counted = live.device();
    if (live.launched >= 0)
        settle_launch(live);
    tell(live, step.time);
    if (live.memory == trace::Memory::managed) {
        resident_ -= counted;
        allocated_ -= live.size;
    } else if (live.memory == trace::Memory::device || live.memory == trace::Memory::array) {
        allocated_ -= live.size;
    }
    const auto address = addresses_.find(live.address);
    if (address != addresses_.end() && address->second == step.allocation)
        addresses_.erase(address);
    live_.erase(step.allocation);
    count(step.time);
}

/// Reports where it was from the last report on until then. `moving` of it are on their way from the host or
/// the device.
void Placement::tell(Live& live, double until, std::uint64_t moving, bool from_host) {
    if (until <= live.at)
        return;
    std::uint64_t host = live.host, device = live.device();
    std::uint64_t& source = from_host ? host : device;
    moving = std::min(moving, source);
    source -= moving;
    const auto share = [&live](std::uint64_t bytes) {
        return static_cast<float>(bytes) / static_cast<float>(live.size);
    };
    sink_.stay(live.line, live.number, live.at, until, live.size,
               {share(device), share(live.both), share(moving), share(live.evicted), share(host),
                share(live.unpopulated)});
    live.at = until;
}

void Placement::to_device(Live& live, std::uint64_t bytes) {
    std::uint64_t left = bytes;
    for (std::uint64_t* from : {&live.host, &live.evicted, &live.unpopulated}) {
        const std::uint64_t taken = std::min(left, *from);
        *from -= taken;
        left -= taken;
    }
}

void Placement::to_host(Live& live, std::uint64_t bytes) {
    std::uint64_t taken = std::min(bytes, live.device());
    live.host += taken;
    taken = std::min(bytes - taken, live.both);
    live.both -= taken;
    live.host += taken;
}

/// No look followed a launch that may reach it: what the host keeps is assumed to be as after the launch
/// before.
void Placement::settle_launch(Live& live) {
    const std::uint64_t stays = reader::saturated(live.kept * static_cast<double>(live.host + live.evicted));
    const std::uint64_t moves = live.host + live.evicted - std::min(stays, live.host + live.evicted);
    if (live.mapped) {
        live.launched = -1;
        return;
    }
    const double end = live.waited > live.at ? live.waited : live.at;
    const bool faults = !live.prefetched_up && moves > 0;
    tell(live, end, moves, true);
    if (faults)
        sink_.move(live.line, live.number, live.launched, true, MoveCause::device_fault, moves);
    to_device(live, moves);
    live.unpopulated = 0;
    live.launched = -1;
    live.front = 0;
    live.prefetched_up = false;
}

void Placement::look(Live& live, const PlaceStep& step) {
    if (live.memory != trace::Memory::managed)
        return;
    const bool whole = step.offset == 0 && step.bytes + page_bytes > live.size;
    std::uint64_t host = step.on_host;
    if (!whole) // the part that was looked at stands for the rest
        host = reader::saturated(static_cast<double>(step.on_host) /
                                 static_cast<double>(std::max(step.bytes, page_bytes)) *
                                 static_cast<double>(live.size));
    host = std::min(host, live.size);
    const std::uint64_t before = live.host + live.both;
    if (live.launched >= 0 && step.after_wait) {
        const std::uint64_t moved = before - std::min(before, host);
        tell(live, live.waited > live.launched ? live.waited : step.time, moved, true);
        if (moved != 0)
            sink_.move(live.line, live.number, live.launched, true,
                       live.prefetched_up ? MoveCause::prefetch : MoveCause::device_fault, moved);
        live.kept = before == 0 ? 0 : static_cast<double>(host) / static_cast<double>(std::max(before, host));
        live.unpopulated = live.evicted = live.both = 0;
        live.host = host;
        live.launched = -1;
        live.front = 0;
        live.prefetched_up = false;
        return;
    }
    if (live.launched >= 0)
        settle_launch(live);
    const std::uint64_t now = live.host + live.both;
    if (host > now) {
        const std::uint64_t first = std::min(host - now, live.unpopulated);
        const std::uint64_t moved = host - now - first;
        if (moved > live.size / 64) { // the time is unknown: draw a slope
            constexpr int steps = 4;
            const double from = live.at, step_ns = (step.time - from) / steps;
            for (int i = 1; i <= steps && step_ns > 0; ++i) {
                tell(live, from + i * step_ns, moved / steps, false);
                if (i != steps)
                    to_host(live, moved / steps);
            }
            sink_.move(live.line, live.number, from, false,
                       live.prefetched_down ? MoveCause::prefetch : MoveCause::host_fault, moved);
        }
        tell(live, step.time);
        live.unpopulated -= first;
    } else {
        const std::uint64_t gone = now - host;
        const double from = live.at;
        tell(live, step.time, gone > live.size / 64 ? gone : 0, true);
        if (gone > live.size / 64)
            sink_.move(live.line, live.number, from, true,
                       live.prefetched_up ? MoveCause::prefetch : MoveCause::device_fault, gone);
        live.prefetched_up = false;
    }
    live.both = 0;
    live.evicted = std::min(live.evicted, live.size - host - std::min(live.unpopulated, live.size - host));
    live.host = std::min(host, live.size - live.evicted - std::min(live.unpopulated, live.size - live.evicted));
    live.unpopulated = std::min(live.unpopulated, live.size - live.host - live.evicted);
    live.prefetched_down = false;
}

void Placement::fault(Live& live, const PlaceStep& step) {
    if (live.launched >= 0)
        settle_launch(live);
    tell(live, step.time);
    const std::uint64_t offset = step.address - live.address;
    const std::uint64_t end = std::min(live.size, offset + std::max(step.bytes, page_bytes));
    // The host usually goes from front to back, and the driver brings more than the page that was asked for.
    const std::uint64_t grown = end > live.front ? end - live.front : step.bytes;
    live.front = std::max(live.front, end);
    if (live.unpopulated != 0) {
        const std::uint64_t taken = std::min(live.unpopulated, grown);
        live.unpopulated -= taken;
        live.host += taken;
        return;
    }
    if (step.moves_known || live.device() == 0)
        return;
    const std::uint64_t moved = std::min(live.device(), std::max(grown, granule));
    sink_.move(live.line, live.number, step.time, false, MoveCause::host_fault, moved);
    to_host(live, moved);
}

void Placement::migrate(Live& live, const PlaceStep& step) {
    tell(live, step.time);
    sink_.move(live.line, live.number, step.time, step.up, step.cause, step.bytes);
    if (step.up) {
        to_device(live, step.bytes);
    } else if (step.cause == MoveCause::eviction) {
        live.evicted += std::min(step.bytes, live.device());
    } else {
        to_host(live, step.bytes);
    }
}

void Placement::prefetch(Live& live, const PlaceStep& step) {
    if (live.memory != trace::Memory::managed)
        return;
    if (live.launched >= 0)
        settle_launch(live);
    tell(live, step.time);
    const std::uint64_t bytes = std::min(step.bytes, live.size);
    const std::uint64_t there = step.up ? live.host + live.evicted : live.device();
    const std::uint64_t moved = std::min(bytes, there);
    if (!step.moves_known && moved != 0) {
        sink_.move(live.line, live.number, step.time, step.up, MoveCause::prefetch, moved);
        tell(live, std::max(step.until, step.time + static_cast<double>(moved) / rate_ * 1e9), moved, step.up);
    }
    (step.up ? live.prefetched_up : live.prefetched_down) = true;
    if (step.moves_known)
        return;
    if (step.up)
        to_device(live, bytes);
    else
        to_host(live, bytes);
}

void Placement::work(Live& live, const PlaceStep& step) {
    if (live.memory != trace::Memory::managed)
        return;
    if (live.launched >= 0)
        settle_launch(live);
    tell(live, step.time);
    const std::uint64_t bytes = std::min(step.bytes, live.size);
    const std::uint64_t moved = step.moves_known ? 0 : std::min(bytes, live.host + live.evicted);
    if (moved > bytes / 64)
        sink_.move(live.line, live.number, step.time, true, MoveCause::device_fault, moved);
    tell(live, step.until, moved, true);
    to_device(live, moved);
    live.unpopulated -= std::min(live.unpopulated, bytes);
    live.front = 0;
}

void Placement::wait(double time) {
    for (const trace::AllocationId id : launched_) {
        Live* const live = live_.find(id);
        if (live != nullptr && live->launched >= 0 && live->waited < 0)
            live->waited = time;
    }
    launched_.clear();
}

void Placement::finish(double end) {
    std::vector<trace::AllocationId> ids;
    for (const auto& [id, live] : live_)
        ids.push_back(id);
    std::ranges::sort(ids);
    for (const trace::AllocationId id : ids) {
        PlaceStep step;
        step.kind = PlaceStep::Kind::free;
        step.time = end;
        step.allocation = id;
        free(step);
    }
}

} // namespace umadvisor::html
