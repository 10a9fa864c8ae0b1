#include "analyzer/managed/managed_site.hpp"

#include "analyzer/managed/managed_ranges.hpp"

#include <algorithm>

namespace umadvisor::managed {
namespace {

using reader::add_saturated;

/// The value under `key`, or the one under `other` where there are too many keys.
template <class Key, class Value>
Value& bounded(std::map<Key, Value>& map, const Key& key, const Key& other, std::size_t most) {
    if (const auto found = map.find(key); found != map.end())
        return found->second;
    return map[map.size() + 1 < most ? key : other];
}

std::uint64_t moved(const std::deque<Stay>& stays) {
    std::uint64_t sum = 0;
    for (const Stay& stay : stays)
        add_saturated(sum, stay.arrived());
    return sum;
}

} // namespace

void MoverShare::add(const MoverShare& other) {
    bytes += other.bytes;
    faults += other.faults;
    shared += other.shared;
}

void KernelShares::add(std::span<const facts::KernelSite> candidates, double bytes, double faults) {
    if (candidates.empty())
        return nobody.add({bytes, faults, 0});
    const auto count = static_cast<double>(candidates.size());
    const MoverShare share{bytes / count, faults / count, candidates.size() > 1 ? (bytes + faults) / count : 0};
    for (const facts::KernelSite& site : candidates) {
        const auto found = sites.find(site);
        (found != sites.end() ? found->second : sites.size() < most ? sites[site] : others).add(share);
    }
}

void ManagedSiteActivity::touched_by_host(std::uint64_t code, std::uint64_t faults, std::uint64_t bytes) {
    HostAccess& access = bounded(host_codes, code, std::uint64_t{0}, most_codes);
    add_saturated(access.faults, faults);
    add_saturated(access.bytes, bytes);
}

void ManagedSiteActivity::prefetched(const PrefetchSite& site, MoveDirection direction, std::uint64_t bytes) {
    MovedBytes& moved = bounded(prefetches, site, {}, most_prefetch_sites);
    add_saturated(direction == MoveDirection::to_host ? moved.to_host : moved.to_device, bytes);
}

void ManagedSiteActivity::take_blocks(const ManagedAllocation& allocation) {
    const std::uint64_t size = allocation.blocks.block_bytes();
    for (const auto& [number, block] : allocation.blocks.blocks()) {
        ++blocks_seen;
        add_saturated(round_trips, block.round_trips);
        const std::uint64_t start = std::max(allocation.base() + number * size, allocation.address);
        const std::uint64_t end = std::min((start & ~(size - 1)) + (size - 1), allocation.last);
        blocks.push_back({allocation.id, start - allocation.address, end - start + 1, block});
        if (blocks.size() >= 2 * most_blocks)
            keep_largest_blocks();
    }
    keep_largest_blocks();
}

void ManagedSiteActivity::keep_largest_blocks() {
    std::ranges::stable_sort(blocks, std::ranges::greater{}, [](const BlockOfAllocation& block) {
        return std::pair{block.activity.traffic(),
                         reader::saturated_sum(block.activity.host_faults, block.activity.device_faults)};
    });
    if (blocks.size() > most_blocks)
        blocks.resize(most_blocks);
}

void ManagedSiteActivity::made_by_kernels(const Stays& stays) {
    const std::deque<Stay>& list = stays.list();
    if (list.empty() || !list.front().on_device || !list.front().populated)
        return;
    add_saturated(made, stays.bytes());
    if (list.size() > 1)
        add_saturated(made_and_returned, std::min(stays.bytes(), list[1].arrived()));
}

/// Whether it moved more than the allocation whose life is kept.
bool ManagedSiteActivity::moved_more(const std::deque<Stay>& stays) const {
    return life.stays.empty() || moved(stays) > moved(life.stays);
}

void ManagedSiteActivity::take_life(const ManagedAllocation& allocation) {
    const std::deque<Stay>& stays = allocation.stays.list();
    if (moved_more(stays))
        life = {allocation.id,   allocation.bytes(),
                allocation.from, allocation.until == UINT64_MAX ? 0 : allocation.until,
                stays,           allocation.stays.left_out()};
}

MovedBytes ManagedSiteActivity::limit_least_shares() {
    if (read_mostly)
        return {};
    const MovedBytes certain = moved_of(recorded), before = shares.least;
    const MovedBytes moved{std::max(certain.to_device, before.to_device),
                           std::max(certain.to_host, before.to_host)};
    const auto limited = [this](std::uint64_t there, std::uint64_t back, std::uint64_t at_least) {
        return std::max(at_least, std::min(there, reader::saturated_sum(back, held)));
    };
    MovedBytes& least = shares.least;
    least.to_device = std::min(before.to_device, limited(moved.to_device, moved.to_host, certain.to_device));
    least.to_host = std::min(before.to_host, limited(moved.to_host, moved.to_device, certain.to_host));
    return {before.to_device - least.to_device, before.to_host - least.to_host};
}

void ManagedSiteActivity::add(const ManagedSiteActivity& other) {
    moves.add(other.moves);
    launches.add(other.launches);
    read_mostly = read_mostly || other.read_mostly;
    if (!preferred_on_host.known())
        preferred_on_host = other.preferred_on_host;
    if (!mapped_by_device.known())
        mapped_by_device = other.mapped_by_device;
    recorded.add(other.recorded);
    shares.add(other.shares);
    reader::add_saturated(held, other.held);
    seen.add(other.seen);
    for (const auto& [to, from] : {std::pair{&kernels, &other.kernels}, {&evictors, &other.evictors}}) {
        for (const auto& [site, share] : from->sites) {
            const auto found = to->sites.find(site);
            (found != to->sites.end()                ? found->second
             : to->sites.size() < KernelShares::most ? to->sites[site]
                                                     : to->others)
                .add(share);
        }
        to->others.add(from->others);
        to->nobody.add(from->nobody);
    }
    devices.add(other.devices);
    for (const ids::AllocationSite& neighbour : other.neighbours)
        stands_beside(neighbour);
    for (const auto& [code, access] : other.host_codes)
        touched_by_host(code, access.faults, access.bytes);
    for (const auto& [site, moved] : other.prefetches) {
        prefetched(site, MoveDirection::to_device, moved.to_device);
        prefetched(site, MoveDirection::to_host, moved.to_host);
    }
    blocks.insert(blocks.end(), other.blocks.begin(), other.blocks.end());
    keep_largest_blocks();
    add_saturated(blocks_seen, other.blocks_seen);
    add_saturated(round_trips, other.round_trips);
    verdicts.add(other.verdicts);
    late.add(other.late);
    add_saturated(made, other.made);
    add_saturated(made_and_returned, other.made_and_returned);
    if (moved_more(other.life.stays))
        life = other.life;
}

} // namespace umadvisor::managed
