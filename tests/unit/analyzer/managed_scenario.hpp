/// Programs with managed memory as traces.
#pragma once

#include "analyzer/model/profile.hpp"
#include "scenario.hpp"

#include <stdexcept>

namespace umadvisor::test {

inline constexpr std::uint64_t host = 0, device = 1; ///< processors, as ManagedEvent numbers them
inline constexpr std::uint32_t drain = 9;            ///< the thread that writes what the driver tells
inline constexpr std::uint64_t all_kinds = 0x1fe,
                               light_kinds = 0x1f2; ///< light: no device faults and migrations

constexpr std::uint64_t address_of(std::uint64_t allocation) {
    return 0x7f00'0000'0000 + (allocation << 32); // as Scenario has it
}

/// A program with managed memory, and what the driver tells of it.
struct Managed : Scenario {
    void tell(std::uint64_t kinds, std::uint64_t lost = 0) {
        trace::ManagedDetail record;
        record.start = now;
        record.kinds = kinds;
        record.lost = lost;
        builder.add(record, drain);
    }
    void event(trace::ManagedEvent record) {
        if (record.start == 0)
            record.start = now;
        builder.add(record, drain);
    }
    void migrate(std::uint64_t address, std::uint64_t bytes, std::uint64_t to,
                 trace::MigrationCause cause = trace::MigrationCause::coherence, std::uint64_t at = 0) {
        trace::ManagedEvent record;
        record.start = at;
        record.kind = trace::ManagedEventKind::migration;
        record.address = address;
        record.bytes = bytes;
        record.from = to == host ? device : host;
        record.to = to;
        record.cause = static_cast<std::uint64_t>(cause);
        event(record);
    }
    void fault(trace::ManagedEventKind kind, std::uint64_t address, std::uint64_t more = 0,
               std::uint64_t code = 0) {
        trace::ManagedEvent record;
        record.kind = kind;
        record.address = address;
        record.bytes = 4096;
        record.to = kind == trace::ManagedEventKind::host_fault ? host : device;
        record.cause = static_cast<std::uint64_t>(trace::FaultAccess::write);
        record.count = more;
        record.code = code;
        record.thread = code == 0 ? 0 : 4242;
        event(record);
    }
    void counters(std::uint64_t to_device, std::uint64_t to_host) {
        trace::ManagedCounters record;
        record.start = now;
        record.bytes_to_device = to_device;
        record.bytes_to_host = to_host;
        builder.add(record);
        now += 100;
    }
    std::uint64_t managed(std::uint64_t bytes, std::uint64_t stack = 0) {
        return allocate(bytes, trace::Memory::managed, stack);
    }
};

/// Keeps the trace beside its profile.
struct ManagedRead {
    explicit ManagedRead(Managed& s) : trace(s.path()), profile(trace) {}
    reader::Trace trace;
    model::Profile profile;
    const model::ManagedActivity& activity = profile.managed();
    const model::ManagedSiteActivity& site(std::uint64_t stack) const {
        for (const auto& [key, what] : activity.sites())
            if (key.stack == stack)
                return what;
        throw std::out_of_range("no such site");
    }
};

} // namespace umadvisor::test
