#pragma once

#include "residency/block.hpp"
#include "residency/observer.hpp"
#include "residency/prices.hpp"

#include <map>
#include <span>
#include <vector>

namespace umadvisor::residency {

/// Advice on a range, named as in cuMemAdvise.
enum class Advice : std::uint8_t {
    set_read_mostly,
    unset_read_mostly,
    set_preferred_location,
    unset_preferred_location,
    set_accessed_by,
    unset_accessed_by
};

/// What the driver's module parameters say.
struct Parameters {
    unsigned prefetch_threshold_percent = 51; ///< uvm_perf_prefetch_threshold
    bool driver_prefetch = true;              ///< uvm_perf_prefetch_enable
    ThrashingParameters thrashing;
};

/// A range of memory that a device accesses.
struct Part {
    std::uint64_t address;
    std::uint64_t bytes;
};

/// The time of an operation, split by what has to wait for it.
struct Cost {
    Nanoseconds time = 0;
    std::uint64_t remote_bytes = 0; ///< bytes accessed over the link without migration

    Cost& operator+=(const Cost& other) {
        time += other.time;
        remote_bytes += other.remote_bytes;
        return *this;
    }
};

/// Residency of managed memory in one unified address space: the driver's rules for faults, migration,
/// prefetch, advice, eviction and thrashing, page by page. Deterministic: time comes as a parameter. Not
/// thread-safe.
class AddressSpace {
public:
    explicit AddressSpace(Prices prices = {}, Parameters parameters = {}, Observer* observer = nullptr);

    /// Bytes of device memory that managed pages may occupy on a device; beyond it pages are evicted. Unlimited
    /// at first.
    void set_capacity(Processor device, std::uint64_t bytes);
    std::uint64_t resident_bytes(Processor processor) const { return resident_pages_[processor] * page_bytes; }

    /// A managed allocation: page-aligned, not overlapping another. Its pages are resident nowhere.
    void add_range(std::uint64_t address, std::uint64_t bytes);
    void remove_range(std::uint64_t address);
    /// True if the address lies in a known range.
    bool contains(std::uint64_t address) const;

    /// A processor accesses [address, address + bytes); pages without a mapping fault. Bytes outside known
    /// ranges are ignored.
    Cost touch(Processor who, std::uint64_t address, std::uint64_t bytes, Access access, Nanoseconds now);
    /// A device's threads access the parts at the same time: their faults are one batch, which the driver
    /// serves block by block.
    Cost touch_together(Processor who, std::span<const Part> parts, Access access, Nanoseconds now);
    /// cuMemPrefetchAsync: moves in bulk, 2 MiB block by block.
    Cost prefetch(Processor target, std::uint64_t address, std::uint64_t bytes, Nanoseconds now);
    /// cuMemDiscardBatchAsync: whole pages of the range become resident nowhere, so they are not copied again.
    void discard(std::uint64_t address, std::uint64_t bytes);
    /// cuMemAdvise; `who` is the location or the accessing processor.
    void advise(Advice advice, Processor who, std::uint64_t address, std::uint64_t bytes, Nanoseconds now = 0);

    /// Sets the number of the last use of the blocks of [address, address + bytes) for eviction, until a device
    /// uses them next; uses are counted from 1. For policies that know future uses.
    void rank(std::uint64_t address, std::uint64_t bytes, std::uint64_t use);

    /// Pages of [address, address + bytes) resident on the processor.
    std::uint64_t count_resident(Processor processor, std::uint64_t address, std::uint64_t bytes) const;
    /// The block that holds the address, or nullptr.
    const Block* find_block(std::uint64_t address) const;
    const Counters& counters() const { return counters_; }
    const Prices& prices() const { return prices_; }

private:
    struct Range {
        std::uint64_t begin;
        std::uint64_t end;
        std::vector<Block> blocks;
    };

    template <class Visit>
    void visit_blocks(std::uint64_t address, std::uint64_t bytes, Visit visit);
    /// Number of the faults that are served together; 0: there was no fault yet.
    using FaultGroup = std::uint64_t;
    Cost reach(Processor who, Block& block, const PageMask& pages, Access access, FaultGroup& group,
               Nanoseconds now);
    Cost service_fault(Processor who, Block& block, const PageMask& missing, Access access, FaultGroup& group,
                       Nanoseconds now);
    Cost move(Block& block, const PageMask& pages, Processor target, MigrationCause cause, bool duplicate,
              Nanoseconds now);
    Nanoseconds count_bytes(const Block& block, const PageMask& pages, Processor from, Processor to,
                            MigrationCause cause, Nanoseconds now);
    Nanoseconds make_room(Processor device, const Block& keep, std::uint64_t pages, Nanoseconds now);
    Block* least_recently_used(Processor device, const Block& keep) const;
    void used(Block& block, std::uint64_t use);
    void forget_order(Processor device, const Block& block);
    void drop_duplicates(Block& block, const PageMask& pages, Processor owner, Nanoseconds now);
    void set_resident(Block& block, Processor who, const PageMask& pages, Nanoseconds now);
    void clear_resident(Block& block, Processor who, const PageMask& pages);

    // Notify the observer; see notifications.cpp.
    void count_fault(Processor who, const Block& block, const PageMask& pages, Access access, bool mapped,
                     FaultGroup& group, Nanoseconds now);
    void notify_throttling(Processor who, const Block& block, const PageMask& pages, Nanoseconds begin,
                           Nanoseconds end) const;
    void notify_thrashing(const Block& block, const PageMask& found, Nanoseconds now) const;
    void notify_remote_mapping(Processor who, const Block& block, const PageMask& pages,
                               RemoteMapping::Cause cause, Nanoseconds now) const;
    void notify_duplicates(const Block& block, const PageMask& pages, Nanoseconds now) const;
    void notify_duplicates_ended(const Block& block, const PageMask& pages, Processor holder,
                                 Nanoseconds now) const;

    Prices prices_;
    Parameters parameters_;
    Observer* observer_;
    std::map<std::uint64_t, Range> ranges_;
    std::array<std::uint64_t, max_processors> capacity_pages_;
    std::array<std::uint64_t, max_processors> resident_pages_{};
    /// The blocks that a device holds pages of, by last use.
    std::array<std::multimap<std::uint64_t, Block*>, max_processors> eviction_order_;
    std::uint64_t uses_ = 0;
    Counters counters_;
};

/// Calls visit(address, bytes) for each run of set bits.
template <class Visit>
void visit_runs(std::uint64_t base, const PageMask& mask, Visit visit) {
    for (unsigned page = 0; page < pages_per_block;) {
        if (!mask[page]) {
            ++page;
            continue;
        }
        unsigned last = page;
        while (last < pages_per_block && mask[last]) {
            ++last;
        }
        visit(base + page * page_bytes, (last - page) * page_bytes);
        page = last;
    }
}

} // namespace umadvisor::residency
