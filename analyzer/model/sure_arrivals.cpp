#include "analyzer/model/sure_arrivals.hpp"

#include <algorithm>
#include <utility>

namespace umadvisor::model {
namespace {

/// All pages that hold a part of it: those at its ends may be another's, too.
std::uint64_t most_of(const ManagedAllocation& allocation) {
    return (allocation.last / verdicts::page - allocation.address / verdicts::page + 1) * verdicts::page;
}

} // namespace

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
    reached_.push_back(&allocation);
}

void SureArrivals::moved(std::uint64_t to_device, std::uint64_t to_host) {
    reader::add_saturated(came_, to_device);
    reader::add_saturated(otherwise_, to_host);
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
    reader::add_saturated(otherwise_, most_of(allocation));
}

void SureArrivals::close() {
    std::uint64_t all =
        reader::saturated_sum(otherwise_, reader::saturated_sum(prefetched_, prefetched_before_));
    for (const ManagedAllocation* const allocation : reached_)
        reader::add_saturated(all, most_of(*allocation));
    for (ManagedAllocation* const allocation : reached_) {
        allocation->arriving = false;
        const std::uint64_t by_others = all - most_of(*allocation);
        if (!unknown_ && came_ > by_others)
            allocation->stays.add({.time = over_, .kind = UseKind::arrival, .bytes = came_ - by_others});
    }
    reached_.clear();
    prefetched_before_ = prefetched_;
    came_ = otherwise_ = prefetched_ = over_ = 0;
    device_ = no_device;
    unknown_ = false;
}

} // namespace umadvisor::model
