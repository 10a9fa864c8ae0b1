#include "analyzer/tables/locked_totals.hpp"

#include <algorithm>

namespace umadvisor::tables {

void LockedTotals::add(const trace::Alloc& record, bool far) {
    ++count;
    bytes += record.bytes;
    lock_ticks += record.duration;
    live_bytes += record.bytes;
    peak = std::max(peak, ++live);
    peak_bytes = std::max(peak_bytes, live_bytes);
    smallest = std::min(smallest, record.bytes);
    largest = std::max(largest, record.bytes);
    if (far) {
        far_bytes += record.bytes;
        far_node = record.node;
    }
}

LockedTotals& LockedTotals::operator+=(const LockedTotals& other) {
    count += other.count;
    bytes += other.bytes;
    lock_ticks += other.lock_ticks;
    unlock_ticks += other.unlock_ticks;
    copied_bytes += other.copied_bytes;
    peak += other.peak;
    peak_bytes += other.peak_bytes;
    smallest = std::min(smallest, other.smallest);
    largest = std::max(largest, other.largest);
    far_bytes += other.far_bytes;
    far_node = std::max(far_node, other.far_node);
    by_kernels |= other.by_kernels;
    unknown |= other.unknown;
    return *this;
}

} // namespace umadvisor::tables
