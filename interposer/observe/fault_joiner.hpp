/// Joins page faults into events of the trace.
#pragma once

#include "trace/records.hpp"

namespace umadvisor::observe {

/// Receives complete events.
using WriteManaged = void (*)(void* to, const trace::ManagedEvent& event);

/// The bytes from `address` to the end of its page.
std::uint64_t rest_of_page(std::uint64_t address) noexcept;

/// Joins faults of one kind that follow each other closely and are adjacent in a 2 MiB block. Times are in
/// nanoseconds, `code` is the address of the instruction. Uses no clock, driver or trace.
class FaultJoiner {
public:
    constexpr FaultJoiner() noexcept = default;

    /// Adds the next fault; calls `write(to, event)` for the event that it completes. `batch`: faults of one
    /// batch on one page are one event, too; 0: none.
    void take(const trace::ManagedEvent& fault, std::uint32_t batch, WriteManaged write, void* to) noexcept;

    /// Writes the event that is not complete yet.
    void finish(WriteManaged write, void* to) noexcept;

private:
    trace::ManagedEvent event_{};
    std::uint32_t batch_ = 0;
    bool used_ = false;
};

} // namespace umadvisor::observe
