#include "residency/address_space.hpp"
#include "residency/driver_prefetch.hpp"

#include <algorithm>
#include <limits>
#include <utility>

namespace umadvisor::residency {

AddressSpace::AddressSpace(Prices prices, Parameters parameters, Observer* observer)
    : prices_(prices), parameters_(parameters), observer_(observer) {
    capacity_pages_.fill(std::numeric_limits<std::uint64_t>::max());
}

void AddressSpace::set_capacity(Processor device, std::uint64_t bytes) {
    capacity_pages_[device] = bytes / page_bytes;
}

void AddressSpace::add_range(std::uint64_t address, std::uint64_t bytes) {
    const std::uint64_t end = address + (bytes + page_bytes - 1) / page_bytes * page_bytes;
    Range range{address, end, {}};
    range.blocks.resize(block_number(end - 1) - block_number(address) + 1);
    for (std::size_t index = 0; index < range.blocks.size(); ++index) {
        Block& block = range.blocks[index];
        block.base = (block_number(address) + index) * block_bytes;
        const std::uint64_t first = std::max(address, block.base);
        const std::uint64_t last = std::min(end, block.base + block_bytes);
        block.valid = page_range((first - block.base) / page_bytes, (last - block.base) / page_bytes);
    }
    ranges_.emplace(address, std::move(range));
}

void AddressSpace::remove_range(std::uint64_t address) {
    const auto found = ranges_.find(address);
    if (found == ranges_.end()) {
        return;
    }
    for (Block& block : found->second.blocks) {
        for (Processor who = 0; who < max_processors; ++who) {
            resident_pages_[who] -= block.resident[who].count();
            if (block.resident[who].any()) {
                forget_order(who, block);
            }
        }
    }
    ranges_.erase(found);
}

bool AddressSpace::contains(std::uint64_t address) const {
    return find_block(address) != nullptr;
}

const Block* AddressSpace::find_block(std::uint64_t address) const {
    auto next = ranges_.upper_bound(address);
    if (next == ranges_.begin()) {
        return nullptr;
    }
    const Range& range = std::prev(next)->second;
    return address < range.end ? &range.blocks[block_number(address) - block_number(range.begin)] : nullptr;
}

template <class Visit>
void AddressSpace::visit_blocks(std::uint64_t address, std::uint64_t bytes, Visit visit) {
    auto next = ranges_.upper_bound(address);
    if (next != ranges_.begin()) {
        --next;
    }
    const std::uint64_t end = address + bytes;
    for (; next != ranges_.end() && next->second.begin < end; ++next) {
        Range& range = next->second;
        const std::uint64_t first = std::max(address, range.begin);
        const std::uint64_t last = std::min(end, range.end);
        for (std::uint64_t at = first; at < last; at = (block_number(at) + 1) * block_bytes) {
            Block& block = range.blocks[block_number(at) - block_number(range.begin)];
            const std::uint64_t stop = std::min(last, block.base + block_bytes);
            visit(block, page_range(page_in_block(at), (stop - block.base + page_bytes - 1) / page_bytes));
        }
    }
}

Cost AddressSpace::touch(Processor who, std::uint64_t address, std::uint64_t bytes, Access access,
                         Nanoseconds now) {
    Cost cost;
    visit_blocks(address, bytes, [&](Block& block, const PageMask& pages) {
        FaultGroup group = 0;
        cost += reach(who, block, pages, access, group, now + cost.time);
    });
    return cost;
}

Cost AddressSpace::touch_together(Processor who, std::span<const Part> parts, Access access, Nanoseconds now) {
    // In the order of addresses, as the driver sorts a batch; allocations may share a block.
    std::map<std::uint64_t, std::pair<Block*, PageMask>> reached;
    for (const Part& part : parts) {
        visit_blocks(part.address, part.bytes, [&](Block& block, const PageMask& pages) {
            auto& [of, mask] = reached[block.base + block.valid._Find_first()];
            of = &block;
            mask |= pages;
        });
    }
    Cost cost;
    FaultGroup group = 0;
    for (const auto& [address, in_block] : reached) {
        cost += reach(who, *in_block.first, in_block.second, access, group, now + cost.time);
    }
    return cost;
}

Cost AddressSpace::reach(Processor who, Block& block, const PageMask& pages, Access access, FaultGroup& group,
                         Nanoseconds now) {
    Cost cost;
    if (who != host_processor) {
        used(block, ++uses_);
    }
    const PageMask duplicated =
        access == Access::write ? pages & block.read_mostly & block.duplicates(who) : PageMask();
    if (duplicated.any()) {
        // A write to a duplicated page is a permission fault.
        count_fault(who, block, duplicated, access, true, group, now);
        drop_duplicates(block, duplicated, who, now);
        cost.time += who == host_processor ? prices_.host_fault : prices_.device_fault_group;
    }
    const PageMask missing = pages & ~block.resident[who] & ~block.remote[who];
    cost.remote_bytes += (pages & block.remote[who]).count() * page_bytes;
    if (missing.any()) {
        cost += service_fault(who, block, missing, access, group, now + cost.time);
    }
    return cost;
}

Cost AddressSpace::service_fault(Processor who, Block& block, const PageMask& missing, Access access,
                                 FaultGroup& group, Nanoseconds now) {
    Cost cost;
    const bool device = who != host_processor;
    count_fault(who, block, missing, access, false, group, now);

    if (const Nanoseconds wait = block.thrashing.throttle(parameters_.thrashing, who, missing, now);
        wait != 0) {
        ++counters_.throttlings;
        notify_throttling(who, block, missing & block.thrashing.thrashing(), now, now + wait);
        block.thrashing.throttle(parameters_.thrashing, who, missing, now + wait);
        cost.time += wait;
    }

    const PageMask grown = grown_to_granules(missing & ~block.thrashing.thrashing()) | missing;
    const PageMask faulting = grown & block.valid & ~block.resident[who] & ~block.remote[who];
    const bool first_touch = (faulting & block.resident_anywhere()).none();
    cost.time += first_touch && !device ? prices_.first_touch_fault
                 : device               ? prices_.device_fault_group
                                        : prices_.host_fault;

    // A device maps host pages over the link, without migration, if they are pinned against thrashing, prefer
    // the host, or have accessed-by advice for it. The host of a PCIe machine cannot map device memory.
    PageMask remote;
    if (device) {
        const PageMask pinned = block.thrashing.pinned(now + cost.time);
        const PageMask stays = pinned | block.preferred[host_processor] | block.accessed_by[who];
        remote = faulting & stays & block.resident[host_processor] & ~block.read_mostly;
        block.remote[who] |= remote;
        counters_.bytes_remote_mapped += remote.count() * page_bytes;
        notify_remote_mapping(who, block, remote & pinned, RemoteMapping::Cause::thrashing, now + cost.time);
        notify_remote_mapping(who, block, remote & ~pinned, RemoteMapping::Cause::advice, now + cost.time);
        cost.remote_bytes += (remote & missing).count() * page_bytes;
    }

    PageMask moving = faulting & ~remote;
    if (moving.none()) {
        return cost;
    }
    if (first_touch && (moving & block.preferred[who]).any()) {
        moving = block.valid & ~block.resident_anywhere();
    } else if (parameters_.driver_prefetch && !first_touch) {
        // The driver prefetches neither pages at their preferred location nor thrashing pages; pages that are
        // resident nowhere become resident only by a fault of their own.
        const PageMask elsewhere = block.preferred_anywhere() & ~block.preferred[who];
        const PageMask allowed =
            block.valid & block.resident_anywhere() & ~elsewhere & ~block.thrashing.thrashing();
        moving |= expand_by_driver_prefetch(block.resident[who], moving, block.valid,
                                            parameters_.prefetch_threshold_percent) &
                  allowed & ~block.resident[who] & ~block.remote[who];
    } else if (parameters_.driver_prefetch) {
        moving |= expand_by_driver_prefetch(block.resident[who], moving, block.valid,
                                            parameters_.prefetch_threshold_percent) &
                  ~block.resident_anywhere();
    }

    const PageMask duplicated = access == Access::read ? moving & block.read_mostly : PageMask();
    const PageMask moved = moving & ~duplicated;
    const PageMask counted = moved & block.resident_anywhere();
    const Nanoseconds begun = now + cost.time;
    cost.time += move(block, duplicated, who, MigrationCause::coherence, true, now + cost.time).time;
    cost.time += move(block, moved, who, MigrationCause::coherence, false, now + cost.time).time;

    if (counted.any()) {
        const PageMask found = block.thrashing.record(parameters_.thrashing, who, counted, begun);
        counters_.thrashing_pages += found.count();
        notify_thrashing(block, found, now + cost.time);
    }
    return cost;
}

Cost AddressSpace::prefetch(Processor target, std::uint64_t address, std::uint64_t bytes, Nanoseconds now) {
    ++counters_.prefetch_calls;
    Cost cost{prices_.prefetch_call, 0};
    bool moves = false;
    visit_blocks(address, bytes, [&](Block& block, const PageMask& pages) {
        cost.time += prices_.prefetch_block;
        const PageMask requested = pages & block.valid;
        block.remote[target] &= ~requested;
        block.thrashing.forget(requested);
        if (target != host_processor) {
            used(block, ++uses_);
        }
        const PageMask moving = requested & ~block.resident[target];
        if (moving.any() && !std::exchange(moves, true)) {
            cost.time += prices_.prefetch_move;
        }
        const auto bring = [&](const PageMask& part, bool duplicate) {
            cost.time += move(block, part, target, MigrationCause::user, duplicate, now + cost.time).time;
        };
        bring(moving & block.read_mostly, true);
        bring(moving & ~block.read_mostly, false);
    });
    return cost;
}

void AddressSpace::discard(std::uint64_t address, std::uint64_t bytes) {
    const std::uint64_t first = (address + page_bytes - 1) / page_bytes * page_bytes;
    const std::uint64_t last = (address + bytes) / page_bytes * page_bytes;
    if (first >= last) {
        return;
    }
    visit_blocks(first, last - first, [&](Block& block, const PageMask& pages) {
        for (Processor who = 0; who < max_processors; ++who) {
            clear_resident(block, who, pages);
        }
    });
}

void AddressSpace::advise(Advice advice, Processor who, std::uint64_t address, std::uint64_t bytes,
                          Nanoseconds now) {
    visit_blocks(address, bytes, [&](Block& block, const PageMask& all) {
        const PageMask pages = all & block.valid;
        switch (advice) {
        case Advice::set_read_mostly:
            block.read_mostly |= pages;
            break;
        case Advice::unset_read_mostly:
            block.read_mostly &= ~pages;
            for (Processor owner = 0; owner < max_processors; ++owner) {
                drop_duplicates(block, pages & block.resident[owner], owner, now);
            }
            break;
        case Advice::set_preferred_location:
        case Advice::unset_preferred_location:
            for (PageMask& mask : block.preferred) {
                mask &= ~pages;
            }
            if (advice == Advice::set_preferred_location) {
                block.preferred[who] |= pages;
            }
            break;
        case Advice::set_accessed_by:
            // cuMemAdvise: the processor is mapped at once, so that access does not fault.
            block.accessed_by[who] |= pages;
            if (who != host_processor) {
                const PageMask reached = pages & block.resident[host_processor] & ~block.resident[who];
                notify_remote_mapping(who, block, reached & ~block.remote[who], RemoteMapping::Cause::advice,
                                      now);
                block.remote[who] |= reached;
            }
            break;
        case Advice::unset_accessed_by:
            block.accessed_by[who] &= ~pages;
            block.remote[who] &= ~pages;
            break;
        }
    });
}

void AddressSpace::rank(std::uint64_t address, std::uint64_t bytes, std::uint64_t use) {
    visit_blocks(address, bytes, [&](Block& block, const PageMask&) { used(block, use); });
}

std::uint64_t AddressSpace::count_resident(Processor processor, std::uint64_t address,
                                           std::uint64_t bytes) const {
    std::uint64_t pages = 0;
    const_cast<AddressSpace*>(this)->visit_blocks(address, bytes, [&](Block& block, const PageMask& mask) {
        pages += (mask & block.resident[processor]).count();
    });
    return pages;
}

} // namespace umadvisor::residency
