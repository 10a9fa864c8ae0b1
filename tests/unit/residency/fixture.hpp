#pragma once

#include "residency/address_space.hpp"

#include <boost/test/unit_test.hpp>

#include <vector>

namespace umadvisor::residency {

inline constexpr Processor device = device_processor(0);
inline constexpr std::uint64_t base = 64 * block_bytes;

/// Remembers what the model tells.
class Recorder final : public Observer {
public:
    void host_mapping_lost(std::uint64_t, std::uint64_t bytes) override { lost += bytes; }
    void host_mapping_gained(std::uint64_t, std::uint64_t bytes) override { gained += bytes; }
    void host_write_protected(std::uint64_t, std::uint64_t bytes) override { write_protected += bytes; }
    void host_fault(const HostFault& fault) override { host_faults.push_back(fault); }
    void device_fault(const DeviceFault& fault) override { device_faults.push_back(fault); }
    void migrated(const Migration& migration) override { migrations.push_back(migration); }
    void thrashing_found(const Thrashing& found) override {
        thrashing += found.bytes;
        thrashings.push_back(found);
    }
    void throttled(const Throttling& wait) override { waits.push_back(wait); }
    void remote_mapped(const RemoteMapping& mapping) override { remote.push_back(mapping); }
    void read_duplicated(const ReadDuplicate& made) override { duplicates.push_back(made); }
    void read_duplicate_ended(const ReadDuplicateEnd& end) override { duplicate_ends.push_back(end); }

    std::uint64_t lost = 0;
    std::uint64_t gained = 0;
    std::uint64_t write_protected = 0;
    std::uint64_t thrashing = 0;
    std::vector<HostFault> host_faults;
    std::vector<DeviceFault> device_faults;
    std::vector<Migration> migrations;
    std::vector<Thrashing> thrashings;
    std::vector<Throttling> waits;
    std::vector<RemoteMapping> remote;
    std::vector<ReadDuplicate> duplicates;
    std::vector<ReadDuplicateEnd> duplicate_ends;
};

/// A model with one range of `blocks` 2 MiB blocks at `base`.
struct Fixture {
    explicit Fixture(unsigned blocks = 4) : bytes(blocks * block_bytes) { memory.add_range(base, bytes); }

    Cost touch(Processor who, std::uint64_t offset, std::uint64_t size, Access access = Access::write,
               Nanoseconds now = 0) {
        return memory.touch(who, base + offset, size, access, now);
    }
    std::uint64_t resident(Processor who) const { return memory.count_resident(who, base, bytes) * page_bytes; }

    std::uint64_t bytes;
    Recorder recorder;
    AddressSpace memory{Prices(), Parameters(), &recorder};
};

} // namespace umadvisor::residency
