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

    /// Takes the next record; calls `write(to, event)` for what is complete by it. Passes over what is of
    /// another kind.
    void take(const residency::cupti::CounterRecord& record, WriteManaged write, void* to) noexcept;

    /// Writes what waits for more like it.
    void finish(WriteManaged write, void* to) noexcept;

private:
    FaultJoiner host_faults_, device_faults_;
};

} // namespace umadvisor::observe
