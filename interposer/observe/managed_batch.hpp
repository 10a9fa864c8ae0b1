/// Events of managed memory on their way to the trace.
#pragma once

#include "interposer/observe/paired_clock.hpp"
#include "trace/records.hpp"

#include <cstddef>

namespace umadvisor::observe {

/// Holds events so that they are written in the order in which they happened: a reader merges the threads of a
/// trace by the times of their records, and decoders hold some back. Large (0.7 MiB) and fine as zeroed memory.
/// Not thread-safe.
struct ManagedBatch {
    static constexpr std::size_t most = 8192;
    trace::ManagedEvent events[most];
    std::size_t count;

    /// By their start.
    void sort() noexcept;
};

/// Who hears of events, on any thread. Processors and times are the driver's. Must not call whoever tells it.
using ManagedListener = void (*)(const trace::ManagedEvent& event) noexcept;

/// Writes an event whose times are nanoseconds of `clock` and whose `code` is the address of an instruction.
void write_event(const trace::ManagedEvent& told, const PairedClock& clock) noexcept;

} // namespace umadvisor::observe
