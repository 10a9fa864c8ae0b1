#pragma once

#include "residency/counters.hpp"

namespace umadvisor::residency {

enum class Access : std::uint8_t { read, write };

// Events for the observer: runs of pages, with times on the caller's clock. An operation that takes time gives
// each event its time within the operation.

/// A page that the host touched without a mapping that allows it.
struct HostFault {
    std::uint64_t address;
    Access access;
    Nanoseconds time;
};

/// A 64 KiB granule that a device touched without such a mapping.
struct DeviceFault {
    std::uint64_t address;
    Processor who;
    Access access;
    bool mapped;         ///< for reading, so that only the write faults
    std::uint64_t group; ///< faults that are served together, counted from 1
    Nanoseconds time;
};

struct Migration {
    std::uint64_t address;
    std::uint64_t bytes;
    Processor from;
    Processor to;
    MigrationCause cause;
    Nanoseconds begin, end;
};

/// Pages that are found to thrash.
struct Thrashing {
    std::uint64_t address;
    std::uint64_t bytes;
    ProcessorSet processors; ///< between which they thrash
    Nanoseconds time;
};

/// A wait of a fault on a thrashing page.
struct Throttling {
    std::uint64_t address;
    Processor who;
    Nanoseconds begin, end;
};

/// Pages that a processor accesses over the link from now on.
struct RemoteMapping {
    /// Advice is the driver's "policy": preferred location or accessed-by.
    enum class Cause : std::uint8_t { thrashing, advice };
    std::uint64_t address;
    std::uint64_t bytes;
    Processor who;
    Processor holder;
    Cause cause;
    Nanoseconds time;
};

/// Pages that have a further copy from now on.
struct ReadDuplicate {
    std::uint64_t address;
    std::uint64_t bytes;
    ProcessorSet holders;
    Nanoseconds time;
};

/// Pages that had several copies and have one.
struct ReadDuplicateEnd {
    std::uint64_t address;
    std::uint64_t bytes;
    Processor holder;
    Nanoseconds time;
};

/// Receives the model's events, during the operation that causes them; must not call the model back.
class Observer {
public:
    virtual ~Observer() = default;
    /// The host cannot access these bytes without a fault any more.
    virtual void host_mapping_lost(std::uint64_t address, std::uint64_t bytes) = 0;
    /// The host can access these bytes now.
    virtual void host_mapping_gained(std::uint64_t address, std::uint64_t bytes) = 0;
    /// These bytes now have a second copy: a host write must fault, so that the model can end it.
    virtual void host_write_protected(std::uint64_t /*address*/, std::uint64_t /*bytes*/) {}
    virtual void host_fault(const HostFault&) {}
    virtual void device_fault(const DeviceFault&) {}
    virtual void migrated(const Migration&) {}
    virtual void thrashing_found(const Thrashing&) {}
    virtual void throttled(const Throttling&) {}
    virtual void remote_mapped(const RemoteMapping&) {}
    virtual void read_duplicated(const ReadDuplicate&) {}
    virtual void read_duplicate_ended(const ReadDuplicateEnd&) {}
};

} // namespace umadvisor::residency
