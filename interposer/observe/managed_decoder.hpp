/// Events of the driver's tools interface, as the trace has them.
#pragma once

#include "interposer/observe/fault_joiner.hpp"
#include "residency/tools_interface.hpp"

namespace umadvisor::observe {

/// Makes ManagedEvents of entries, those that tell one thing joined: faults of one kind that lie side by side
/// in a 2 MiB block, the two ends of a throttling. Times and durations are the driver's, nanoseconds; `code` is
/// the address of the instruction. Knows no clock, no driver and no trace.
class ManagedDecoder {
public:
    using Write = WriteManaged;

    constexpr ManagedDecoder() noexcept = default;

    /// Takes the next entry; calls `write(to, event)` for what is complete by it.
    void take(const residency::tools::Entry& entry, Write write, void* to) noexcept;

    /// Writes what waits for more like it.
    void finish(Write write, void* to) noexcept;

private:
    static constexpr int most_throttled = 8; ///< processors that wait at the same time

    void begin_throttling(const residency::tools::Throttling& start) noexcept;
    void end_throttling(const residency::tools::Throttling& end, Write write, void* to) noexcept;

    FaultJoiner host_faults_, device_faults_;
    residency::tools::Throttling throttled_[most_throttled]{};
};

} // namespace umadvisor::observe
