/// Events of managed memory before they are written to the trace.
#pragma once

#include "interposer/observe/paired_clock.hpp"
#include "trace/records.hpp"

#include <cstddef>

namespace umadvisor::observe {

/// Holds events until they can be written in the order of their times: a reader merges the threads of a trace
/// by the times of their records, and decoders delay some events. Large (0.7 MiB) and valid as zeroed memory.
/// Not thread-safe.
struct ManagedBatch {
    static constexpr std::size_t most = 8192;
    trace::ManagedEvent events[most];
    std::size_t count;

    /// Sorts the events by their start.
    void sort() noexcept;
};

/// Receives events, on any thread. Processors and times are the driver's. Must not call the watch back.
using ManagedListener = void (*)(const trace::ManagedEvent& event) noexcept;

/// Writes an event whose times are nanoseconds of `clock` and whose `code` is the address of an instruction.
void write_event(const trace::ManagedEvent& event, const PairedClock& clock) noexcept;

} // namespace umadvisor::observe
