/// CUPTI's unified-memory records, as the trace has them.
#pragma once

#include "interposer/observe/fault_joiner.hpp"
#include "residency/cupti_interface.hpp"

namespace umadvisor::observe {

/// Makes ManagedEvents of records. Times are CUPTI's nanoseconds, `code` is the address of the instruction.
/// Knows no clock, no CUPTI and no trace.
class CuptiDecoder {
public:
    constexpr CuptiDecoder() noexcept = default;

    /// Takes the next record; calls `write(to, event)` for each event that it completes. Ignores records of
    /// other kinds.
    void take(const residency::cupti::CounterRecord& record, WriteManaged write, void* to) noexcept;

    /// Writes the event that waits for more records like it.
    void finish(WriteManaged write, void* to) noexcept;

private:
    FaultJoiner host_faults_, device_faults_;
};

} // namespace umadvisor::observe
