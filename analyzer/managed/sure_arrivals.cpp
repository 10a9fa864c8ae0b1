#include "analyzer/managed/sure_arrivals.hpp"

#include <algorithm>
#include <utility>

namespace umadvisor::managed {

void SureArrivals::launch(ManagedAllocation& allocation, std::uint64_t device) {
    const std::uint64_t before = std::exchange(device_, device);
    unknown_ = unknown_ || (before != no_device && before != device);
    touch(allocation);
}

void SureArrivals::touch(ManagedAllocation& allocation) {
    over_ = 0;
    if (allocation.arriving)
        return;
    if (reached_.size() == most) {
        unknown_ = true;
        return;
    }
    allocation.arriving = true;
    allocation.most_arriving = most_of(allocation);
    reached_.push_back(&allocation);
}

/// The most that can come: all pages that hold it, or what the last look saw on the host, plus the pages at its
/// ends, which other memory may share.
std::uint64_t SureArrivals::most_of(const ManagedAllocation& allocation) const {
    const std::uint64_t pages = allocation.last / page - allocation.address / page + 1;
    const std::uint64_t all = std::min(pages, UINT64_MAX / page) * page;
    const bool shared = allocation.address % page != 0 || (allocation.last + 1) % page != 0;
    const OnHost& seen = allocation.on_host;
    return seen.epoch != epoch_ ? all : std::min(all, reader::saturated_sum(seen.bytes, shared ? 2 * page : 0));
}

void SureArrivals::host_touch(ManagedAllocation& allocation, std::uint64_t time) {
    if (time < allocation.on_host.time)
        return;
    allocation.on_host.bytes = UINT64_MAX;
    if (allocation.arriving)
        allocation.most_arriving = most_of(allocation);
}

void SureArrivals::moved(std::uint64_t to_device, std::uint64_t to_host) {
    reader::add_saturated(came_, to_device);
    reader::add_saturated(otherwise_, to_host);
    epoch_ += to_host != 0;
    if (over_ != 0)
        close();
}

void SureArrivals::finish(std::uint64_t time) {
    if (over_ == 0)
        over_ = time;
    close();
}

void SureArrivals::forget(ManagedAllocation& allocation) {
    if (!std::exchange(allocation.arriving, false))
        return;
    std::erase(reached_, &allocation);
    reader::add_saturated(otherwise_, allocation.most_arriving);
}

void SureArrivals::close() {
    std::uint64_t all =
        reader::saturated_sum(otherwise_, reader::saturated_sum(prefetched_, prefetched_before_));
    for (const ManagedAllocation* const allocation : reached_)
        reader::add_saturated(all, allocation->most_arriving);
    for (ManagedAllocation* const allocation : reached_) {
        allocation->arriving = false;
        const std::uint64_t by_others = all - allocation->most_arriving;
        const std::uint64_t own = std::min(came_ - std::min(came_, by_others), allocation->most_arriving);
        if (!unknown_ && own >= granule) // less may have come for what lies beside it
            allocation->stays.add({.time = over_, .kind = UseKind::arrival, .bytes = own});
    }
    reached_.clear();
    prefetched_before_ = prefetched_;
    came_ = otherwise_ = prefetched_ = over_ = 0;
    device_ = no_device;
    unknown_ = false;
}

} // namespace umadvisor::managed
