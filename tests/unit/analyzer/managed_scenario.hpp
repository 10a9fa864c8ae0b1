/// Programs with managed memory as traces.
#pragma once

#include "analyzer/rules/profile.hpp"
#include "scenario.hpp"

#include <stdexcept>

namespace umadvisor::test {

inline constexpr std::uint64_t host = 0, device = 1; ///< processors, as ManagedEvent numbers them
inline constexpr std::uint32_t drain = 9;            ///< the thread that writes what the driver tells
inline constexpr std::uint64_t all_kinds = 0x1fe,
                               light_kinds = 0x1f2; ///< light: no device faults and migrations

/// A program with managed memory, and what the driver tells of it.
struct Managed : Scenario {
    void tell(std::uint64_t kinds, std::uint64_t lost = 0) {
        builder.add(trace::ManagedDetail{.start = now, .kinds = kinds, .lost = lost}, drain);
    }
    void event(trace::ManagedEvent record) {
        if (record.start == 0)
            record.start = now;
        builder.add(record, drain);
    }
    void migrate(std::uint64_t address, std::uint64_t bytes, std::uint64_t to,
                 trace::MigrationCause cause = trace::MigrationCause::coherence, std::uint64_t at = 0) {
        trace::ManagedEvent record{.start = at,
                                   .kind = trace::ManagedEventKind::migration,
                                   .address = address,
                                   .bytes = bytes,
                                   .from = to == host ? device : host,
                                   .to = to,
                                   .cause = static_cast<std::uint64_t>(cause)};
        event(record);
    }
    struct FaultOptions {
        std::uint64_t more = 0; ///< faults on neighbouring pages
        std::uint64_t code = 0; ///< of the host
        trace::FaultAccess access = trace::FaultAccess::write;
        std::uint64_t to = device; ///< of a device's fault
        std::uint64_t thread = 4242;
    };
    void fault(trace::ManagedEventKind kind, std::uint64_t address, const FaultOptions& options) {
        trace::ManagedEvent record{.kind = kind,
                                   .address = address,
                                   .bytes = 4096,
                                   .to = kind == trace::ManagedEventKind::host_fault ? host : options.to,
                                   .cause = static_cast<std::uint64_t>(options.access),
                                   .count = options.more,
                                   .code = options.code,
                                   .thread = options.code == 0 ? 0 : options.thread};
        event(record);
    }
    void fault(trace::ManagedEventKind kind, std::uint64_t address, std::uint64_t more = 0,
               std::uint64_t code = 0) {
        fault(kind, address, {.more = more, .code = code});
    }
    void counters(std::uint64_t to_device, std::uint64_t to_host, std::uint64_t device_faults = 0,
                  std::uint64_t host_faults = 0) {
        trace::ManagedCounters record{.start = now,
                                      .bytes_to_device = to_device,
                                      .bytes_to_host = to_host,
                                      .host_faults = host_faults,
                                      .device_faults = device_faults};
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
    rules::Profile profile;
    const managed::ManagedActivity& activity = profile.managed();
    const managed::ManagedSiteActivity& site(std::uint64_t stack) const {
        for (const auto& [key, what] : activity.sites())
            if (key.stack == stack)
                return what;
        throw std::out_of_range("no such site");
    }
    managed::MovedBytes moved(std::uint64_t stack) const { return activity.account().moved(site(stack)); }
    managed::MovedBasis basis(std::uint64_t stack) const { return activity.account().basis(site(stack)); }
    managed::MovedBytes unassigned() const { return activity.account().unassigned(); }
};

} // namespace umadvisor::test
