/// Page faults that are one event to whoever reads the trace.
#pragma once

#include "trace/records.hpp"

namespace umadvisor::observe {

/// Where events go that are complete.
using WriteManaged = void (*)(void* to, const trace::ManagedEvent& event);

/// The bytes from `address` to the end of its page.
std::uint64_t rest_of_page(std::uint64_t address) noexcept;

/// Joins faults of one kind that follow each other closely and lie side by side in a 2 MiB block. Times are
/// nanoseconds, `code` the address of the instruction. Knows no clock, no driver and no trace.
class FaultJoiner {
public:
    constexpr FaultJoiner() noexcept = default;

    /// Takes the next fault; calls `write(to, event)` for what is complete by it. `batch`: faults of one batch
    /// on one page are one event, too; 0: none.
    void take(const trace::ManagedEvent& fault, std::uint32_t batch, WriteManaged write, void* to) noexcept;

    /// Writes what waits for more like it.
    void finish(WriteManaged write, void* to) noexcept;

private:
    trace::ManagedEvent event_{};
    std::uint32_t batch_ = 0;
    bool used_ = false;
};

} // namespace umadvisor::observe
