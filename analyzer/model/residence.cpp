#include "analyzer/model/residence.hpp"

#include "analyzer/reader/saturated.hpp"

#include <algorithm>

namespace umadvisor::model {
namespace {

constexpr std::uint64_t page_bytes = 4096;
constexpr std::size_t most_windows = 4096;
constexpr std::size_t most_prefetches = 256;

/// A move worth counting as one: the driver moves 64 KiB at the least, unless the allocation is smaller.
std::uint64_t significant_part(std::uint64_t bytes) {
    return std::max<std::uint64_t>(
        1, std::min<std::uint64_t>(bytes, std::max<std::uint64_t>(64 * 1024, bytes / 64)));
}

} // namespace

void Residence::prefetch(std::uint64_t offset, std::uint64_t bytes, trace::Location location,
                         std::uint64_t syncs) {
    if (prefetches_.size() == most_prefetches) {
        prefetches_.erase(prefetches_.begin());
        ++prefetches_dropped_;
    }
    prefetches_.push_back({offset, bytes, syncs, location == trace::Location::device});
}

/// Returns how much of what goes to the device shows now or has come back since: what ended before anybody
/// looked around a launch.
std::uint64_t Residence::expect_prefetches(Window& window, std::uint64_t first, std::uint64_t last,
                                           std::uint64_t syncs) {
    std::uint64_t ended = 0;
    const std::uint64_t from =
        window.prefetches_seen > prefetches_dropped_ ? window.prefetches_seen - prefetches_dropped_ : 0;
    for (std::size_t i = from; i < prefetches_.size(); ++i) {
        const Ahead& ahead = prefetches_[i];
        const std::uint64_t begin = std::max(first, ahead.offset);
        const std::uint64_t end = std::min(last, ahead.offset + ahead.bytes);
        if (begin >= end)
            continue;
        if (ahead.to_device && window.seen && !window.launched && ahead.syncs != syncs)
            ended += end - begin;
        if (!ahead.to_device)
            window.to_host_pending += end - begin;
        else if (window.seen ||
                 ahead.syncs == syncs) // else it ended before anybody looked: what is here came later
            window.to_device_pending += end - begin;
    }
    window.prefetches_seen = prefetches_dropped_ + prefetches_.size();
    return ended;
}

Residence::Change Residence::left(Window& window, std::uint64_t bytes, std::uint64_t significant) {
    const std::uint64_t by_prefetch = std::min(bytes, window.to_device_pending);
    window.to_device_pending -= by_prefetch;
    window.moves.prefetched_bytes += by_prefetch;
    window.device_bytes += bytes;
    const std::uint64_t by_faults = bytes - by_prefetch;
    window.moves.bytes_to_device += by_faults;
    if (by_faults < significant)
        return Change::none;
    if (window.moves.to_device++ == 0)
        window.moves.first_bytes = by_faults;
    return Change::left_host;
}

Residence::Change Residence::came(Window& window, std::uint64_t bytes, std::uint64_t size,
                                  std::uint64_t significant) {
    // Pages that nobody had yet may be what the host filled just now: only what cannot be new came back.
    const std::uint64_t fresh = size - std::min(size, window.device_bytes + window.host_bytes);
    const std::uint64_t back = bytes - std::min(bytes, fresh);
    window.device_bytes -= std::min(back, window.device_bytes);
    const std::uint64_t by_prefetch = std::min(back, window.to_host_pending);
    window.to_host_pending -= by_prefetch;
    window.moves.prefetched_bytes += by_prefetch;
    window.moves.bytes_to_host += back - by_prefetch;
    if (back - by_prefetch < significant)
        return Change::none;
    ++window.moves.to_host;
    return Change::came_to_host;
}

Residence::Change Residence::sample(const trace::Residency& record, std::uint64_t syncs) {
    if (record.pages == 0 || record.offset >= bytes_)
        return Change::none;
    const auto key = std::make_pair(record.offset, record.pages);
    if (!windows_.contains(key) && windows_.size() == most_windows)
        return Change::none;
    ++samples_;
    Window& window = windows_[key];
    const std::uint64_t pages = std::min(record.pages, (bytes_ - record.offset + page_bytes - 1) / page_bytes);
    const std::uint64_t bytes = std::min(pages * page_bytes, bytes_ - record.offset);
    const std::uint64_t host = std::min(record.host_pages * page_bytes, bytes);
    const std::uint64_t ended = expect_prefetches(window, record.offset, record.offset + bytes, syncs);
    const std::uint64_t under_way = window.to_device_pending - ended;

    Change change = Change::none;
    const std::uint64_t significant = significant_part(bytes);
    if (window.seen && host < window.host_bytes)
        change = left(window, window.host_bytes - host, significant);
    else if (window.seen && host > window.host_bytes)
        change = came(window, host - window.host_bytes, bytes, significant);
    window.to_device_pending = std::min(window.to_device_pending, under_way);
    const bool before_launch = record.moment == trace::SampleMoment::before_launch;
    const bool after_synchronize = record.moment == trace::SampleMoment::after_synchronize;
    if (!window.launched && before_launch)
        window.moves.populated_by_host = host != 0;
    if (after_synchronize)
        window.to_device_pending = window.to_host_pending = 0;
    window.launched = window.launched || before_launch || after_synchronize;
    window.host_bytes = host;
    on_host_ = host != 0;
    window.seen = true;
    return change;
}

double Residence::coverage() const {
    std::uint64_t looked = 0;
    for (const auto& [key, window] : windows_)
        looked += std::min(key.second * page_bytes, bytes_ - key.first);
    return bytes_ == 0 ? 1.0 : std::min(1.0, static_cast<double>(looked) / static_cast<double>(bytes_));
}

Moves Residence::moves() const {
    Moves sum;
    for (const auto& [key, window] : windows_) {
        sum.to_device = std::max(sum.to_device, window.moves.to_device);
        sum.to_host = std::max(sum.to_host, window.moves.to_host);
        sum.bytes_to_device += window.moves.bytes_to_device;
        sum.bytes_to_host += window.moves.bytes_to_host;
        sum.prefetched_bytes += window.moves.prefetched_bytes;
        sum.first_bytes += window.moves.first_bytes;
        sum.populated_by_host |= window.moves.populated_by_host;
    }
    const double part = coverage();
    if (part > 0 && part < 1) {
        const auto whole = [part](std::uint64_t& bytes) {
            bytes = reader::saturated(static_cast<double>(bytes) / part);
        };
        whole(sum.bytes_to_device);
        whole(sum.bytes_to_host);
        whole(sum.prefetched_bytes);
        whole(sum.first_bytes);
    }
    return sum;
}

} // namespace umadvisor::model
