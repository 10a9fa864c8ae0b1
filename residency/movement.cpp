// Migrations: counts bytes by direction and cause, makes room by eviction, and keeps host mappings up to date.
#include "residency/address_space.hpp"

namespace umadvisor::residency {

Cost AddressSpace::move(Block& block, const PageMask& pages, Processor target, MigrationCause cause,
                        bool duplicate, Nanoseconds now) {
    Cost cost;
    const PageMask moving = pages & ~block.resident[target];
    if (moving.none()) {
        return cost;
    }
    if (target != host_processor) {
        cost.time += make_room(target, block, moving.count(), now);
    }
    PageMask pending = moving;
    PageMask copied;
    PageMask collapsed;
    for (Processor from = 0; from < max_processors; ++from) {
        const PageMask leaving = moving & block.resident[from];
        // A duplicated page can be resident on several processors: its bytes are copied once.
        cost.time += count_bytes(block, leaving & pending, from, target, cause, now + cost.time);
        collapsed |= duplicate ? PageMask() : leaving & ~pending;
        pending &= ~leaving;
        if (duplicate) {
            copied |= leaving;
            counters_.bytes_read_duplicated += leaving.count() * page_bytes;
        } else {
            clear_resident(block, from, leaving);
        }
    }
    set_resident(block, target, moving, now + cost.time);
    notify_duplicates(block, copied, now + cost.time);
    notify_duplicates_ended(block, collapsed, target, now + cost.time);
    visit_runs(block.base, copied & block.resident[host_processor], [&](std::uint64_t at, std::uint64_t size) {
        if (observer_) {
            observer_->host_write_protected(at, size);
        }
    });
    return cost;
}

Nanoseconds AddressSpace::count_bytes(const Block& block, const PageMask& pages, Processor from, Processor to,
                                      MigrationCause cause, Nanoseconds now) {
    const std::uint64_t bytes = pages.count() * page_bytes;
    if (bytes == 0) {
        return 0;
    }
    const auto index = static_cast<unsigned>(cause);
    if (from == host_processor) {
        counters_.bytes_to_device[index] += bytes;
    } else if (to == host_processor) {
        counters_.bytes_to_host[index] += bytes;
    } else {
        counters_.bytes_between_devices += bytes;
    }
    const double speed = to == host_processor ? prices_.migrate_to_host : prices_.migrate_to_device;
    if (observer_) {
        // The runs follow each other.
        std::uint64_t before = 0;
        visit_runs(block.base, pages, [&](std::uint64_t at, std::uint64_t size) {
            const Nanoseconds begin = now + transfer_time(before, speed);
            before += size;
            observer_->migrated({at, size, from, to, cause, begin, now + transfer_time(before, speed)});
        });
    }
    return transfer_time(bytes, speed);
}

Nanoseconds AddressSpace::make_room(Processor device, const Block& keep, std::uint64_t pages, Nanoseconds now) {
    Nanoseconds time = 0;
    while (resident_pages_[device] + pages > capacity_pages_[device]) {
        Block* victim = least_recently_used(device, keep);
        if (!victim) {
            break;
        }
        ++counters_.evicted_blocks;
        const PageMask leaving = victim->resident[device];
        const PageMask duplicated = leaving & victim->resident[host_processor];
        clear_resident(*victim, device, duplicated);
        notify_duplicates_ended(*victim, duplicated & ~victim->duplicates(host_processor), host_processor,
                                now + time);
        time +=
            move(*victim, leaving & ~duplicated, host_processor, MigrationCause::eviction, false, now + time)
                .time;
    }
    return time;
}

Block* AddressSpace::least_recently_used(Processor device, const Block& keep) const {
    for (const auto& [use, block] : eviction_order_[device]) {
        if (block != &keep) {
            return block;
        }
    }
    return nullptr;
}

void AddressSpace::used(Block& block, std::uint64_t use) {
    for (Processor device = host_processor + 1; device < max_processors; ++device) {
        if (block.resident[device].any()) {
            forget_order(device, block);
            eviction_order_[device].emplace(use, &block);
        }
    }
    block.last_use = use;
}

void AddressSpace::forget_order(Processor device, const Block& block) {
    auto& order = eviction_order_[device];
    for (auto at = order.lower_bound(block.last_use); at != order.end(); ++at) {
        if (at->second == &block) {
            order.erase(at);
            return;
        }
    }
}

void AddressSpace::drop_duplicates(Block& block, const PageMask& pages, Processor owner, Nanoseconds now) {
    const PageMask dropped = pages & block.duplicates(owner);
    for (Processor other = 0; other < max_processors; ++other) {
        if (other != owner) {
            clear_resident(block, other, dropped);
        }
    }
    notify_duplicates_ended(block, dropped, owner, now);
}

void AddressSpace::set_resident(Block& block, Processor who, const PageMask& pages, Nanoseconds now) {
    const PageMask gained = pages & ~block.resident[who];
    if (who != host_processor && gained.any() && block.resident[who].none()) {
        eviction_order_[who].emplace(block.last_use, &block);
    }
    block.resident[who] |= gained;
    block.remote[who] &= ~gained;
    resident_pages_[who] += gained.count();
    if (who == host_processor) {
        for (Processor device = 1; device < max_processors; ++device) {
            const PageMask reached = gained & block.accessed_by[device] & ~block.resident[device];
            notify_remote_mapping(device, block, reached & ~block.remote[device], RemoteMapping::Cause::advice,
                                  now);
            block.remote[device] |= reached;
        }
        visit_runs(block.base, gained, [&](std::uint64_t at, std::uint64_t size) {
            if (observer_) {
                observer_->host_mapping_gained(at, size);
            }
        });
    }
}

void AddressSpace::clear_resident(Block& block, Processor who, const PageMask& pages) {
    const PageMask lost = pages & block.resident[who];
    if (lost.none()) {
        return;
    }
    block.resident[who] &= ~lost;
    if (who != host_processor && block.resident[who].none()) {
        forget_order(who, block);
    }
    resident_pages_[who] -= lost.count();
    if (who == host_processor) {
        for (PageMask& mask : block.remote) {
            mask &= ~lost;
        }
        visit_runs(block.base, lost, [&](std::uint64_t at, std::uint64_t size) {
            if (observer_) {
                observer_->host_mapping_lost(at, size);
            }
        });
    }
}

} // namespace umadvisor::residency
