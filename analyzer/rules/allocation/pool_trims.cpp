#include "analyzer/rules/allocation/pool_trims.hpp"

#include <algorithm>
#include <utility>

namespace umadvisor::rules {
namespace {

constexpr std::uint64_t release_threshold_attribute = 4; ///< CU_MEMPOOL_ATTR_RELEASE_THRESHOLD

} // namespace

bool PoolTrims::Pool::take(std::uint64_t bytes) {
    if (free_bytes < bytes)
        return false;
    free_bytes -= bytes;
    while (bytes != 0) {
        const auto first = freed.begin();
        const std::uint64_t taken = std::min(bytes, first->second);
        bytes -= taken;
        if ((first->second -= taken) == 0)
            freed.erase(first);
    }
    return true;
}

void PoolTrims::add(const trace::Alloc& record) {
    if (record.status != 0 || record.captured != 0 || record.part != 0 || record.allocation == 0 ||
        record.origin != trace::Origin::program || !dictionary_.is_stream_ordered(record.entry))
        return;
    const ids::CallSite site{record.stack, record.entry};
    PoolTrimTotals& totals = sites_[site];
    const std::uint64_t name = known(record.pool);
    Pool& pool = pools_[name];
    ++totals.allocations;
    totals.ticks += record.duration;
    if (!pool.take(record.bytes) && pool.returned >= record.bytes) {
        pool.returned -= record.bytes;
        ++totals.anew;
        totals.anew_bytes += record.bytes;
        totals.anew_ticks += record.duration;
    }
    live_[record.allocation] = {site, record.bytes, name};
}

void PoolTrims::add(const trace::Free& record) {
    const Live* const live = live_.find(record.allocation);
    if (record.status != 0 || record.captured != 0 || live == nullptr)
        return;
    if (record.part == 0 && live->bytes != 0) {
        Pool& pool = pools_[live->pool];
        pool.freed[live->site] += live->bytes;
        pool.free_bytes += live->bytes;
    }
    live_.erase(record.allocation);
}

/// Calls `share` for each site that allocated what goes back, with the site's part of those bytes.
template <class Share>
void PoolTrims::give_back(Pool& pool, std::uint64_t stack, const Share& share) {
    for (const auto& [site, bytes] : pool.freed) {
        PoolTrimTotals& totals = sites_[site];
        totals.last_stack = stack;
        share(totals, static_cast<double>(bytes) / static_cast<double>(pool.free_bytes));
    }
    pool.returned += std::exchange(pool.free_bytes, 0);
    pool.freed.clear();
}

void PoolTrims::add(const trace::Pool& record) {
    if (record.status != 0)
        return;
    if (record.action == trace::PoolAction::get || record.action == trace::PoolAction::set) {
        if (const auto own = pools_.find(record.pool); own != pools_.end() && record.pool != 0)
            pools_[0].keeps |= own->second.keeps;
        usual_.insert(record.pool);
        return;
    }
    Pool& pool = pools_[known(record.pool)];
    if (record.action == trace::PoolAction::set_attribute && record.attribute == release_threshold_attribute)
        pool.keeps |= record.value != 0;
    else if (record.action == trace::PoolAction::trim)
        give_back(pool, record.stack, [&record](PoolTrimTotals& totals, double part) {
            ++totals.trims;
            totals.trim_ticks += part * static_cast<double>(record.duration);
        });
}

void PoolTrims::add(const facts::Call& call, bool waits) {
    // Programs without pools are many, and launches are: which streams are busy matters from the first pool on.
    if (call.waits == facts::Waits::device)
        busy_before_ = false;
    else if (pools_.empty() && call.queues == facts::Queues::work)
        busy_before_ = true;
    if (pools_.empty())
        return;
    const bool alone = busy_before_ ? false
                       : call.waits == facts::Waits::stream && !call.stream.legacy
                           ? !busy_.contains(call.stream.number)
                       : call.waits == facts::Waits::event ? false
                                                           : busy_.empty();
    if (waits && call.waits != facts::Waits::nothing)
        for (auto& [name, pool] : pools_)
            if (!pool.keeps && !pool.freed.empty())
                give_back(pool, call.site.stack, [&](PoolTrimTotals& totals, double part) {
                    ++totals.returns;
                    if (alone) {
                        ++totals.free_waits;
                        totals.free_wait_ns += part * call.duration;
                    }
                });
    if (call.waits == facts::Waits::device)
        busy_.clear();
    else if (call.waits == facts::Waits::stream || call.waits == facts::Waits::itself)
        busy_.erase(call.stream.number);
    else if (call.queues == facts::Queues::work || call.queues == facts::Queues::join)
        busy_.insert(call.stream.number);
}

} // namespace umadvisor::rules
