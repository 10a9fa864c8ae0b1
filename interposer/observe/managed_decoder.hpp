/// Events of the driver's tools interface, as the trace has them.
#pragma once

#include "residency/tools_interface.hpp"
#include "trace/records.hpp"

namespace umadvisor::observe {

/// Makes ManagedEvents of entries, those that tell one thing joined: faults of one kind that lie side by side
/// in a 2 MiB block, the two ends of a throttling. Times and durations are the driver's, nanoseconds; `code` is
/// the address of the instruction. Knows no clock, no driver and no trace.
class ManagedDecoder {
public:
    using Write = void (*)(void* to, const trace::ManagedEvent& event);

    constexpr ManagedDecoder() noexcept = default;

    /// Takes the next entry; calls `write(to, event)` for what is complete by it.
    void take(const residency::tools::Entry& entry, Write write, void* to) noexcept;

    /// Writes what waits for more like it.
    void finish(Write write, void* to) noexcept;

private:
    struct Waiting {
        trace::ManagedEvent event;
        std::uint32_t batch = 0; ///< of device faults
        bool used = false;
    };
    static constexpr int most_throttled = 8; ///< processors that wait at the same time

    static void take_fault(const trace::ManagedEvent& fault, std::uint32_t batch, Waiting& last, Write write,
                           void* to) noexcept;
    void begin_throttling(const residency::tools::Throttling& start) noexcept;
    void end_throttling(const residency::tools::Throttling& end, Write write, void* to) noexcept;

    Waiting host_fault_{}, device_fault_{};
    residency::tools::Throttling throttled_[most_throttled]{};
};

} // namespace umadvisor::observe
