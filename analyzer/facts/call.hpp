/// One call of the program as the analyzer's clock sees it: which work it queues and what it waits for. A Call
/// no longer depends on the type of the record that it was made from.
#pragma once

#include "analyzer/ids/call_site.hpp"

#include <cstdint>

namespace umadvisor::facts {

/// A call returns when this is done ("What waits for what" in docs/measurements.md).
enum class Waits : std::uint8_t {
    nothing,
    itself, ///< the work that it queues
    stream, ///< what its stream was given; the legacy default stream includes all blocking streams
    event,
    device, ///< every stream of its device, non-blocking ones included
};

/// A call changes its stream in one of these ways.
enum class Queues : std::uint8_t {
    nothing,
    work,
    record, ///< the event stands for what the stream was given so far
    join,   ///< the stream waits for the event
};

/// The parts of a device that do one thing at a time. Kernels of different streams run beside each other.
enum class Engine : std::uint8_t { none, up, down };
inline constexpr std::size_t engines = 3;

/// Device work begins and ends in no less.
inline constexpr double least_work_ns = 1500;

/// A stream, as far as order is concerned. `number` and `device` have no gaps.
struct StreamPlace {
    std::uint32_t number = 0, device = 0;
    bool legacy = false, blocking = false; ///< blocking: in order with the legacy default stream
};

/// Base of what a user of the clock keeps for a call until the call is settled. The clock hands it back with
/// the call; each user knows the one type of its own.
struct CallNote {};

/// Times are nanoseconds since the trace began.
struct Call {
    ids::CallSite site;
    double start = 0, duration = 0;
    std::uint32_t thread = 0; ///< reader::ThreadCursor::index()
    /// Also of a free in the order of a stream, which neither queues work nor waits here.
    StreamPlace stream;
    /// That is recorded or waited for; of work: that it waits for and stands for from then on, as the launches
    /// of one graph do. 0: none.
    std::uint32_t event = 0;
    std::uint32_t group = 0; ///< of work that is expected to take the same time, without gaps; 0: of none
    std::uint32_t kin = 0;   ///< of that of the same kernel from any line, numbered as groups are; 0: of none
    std::uint32_t range = 0; ///< that it was called in, as tables::NamedRanges numbers them; 0: none
    Queues queues{};
    Waits waits{};
    /// False: whether the call waited is not known; frees take time of their own.
    bool surely_waits = true;
    /// A query succeeded: the host knows to be done what a call of this kind waits for. `stream` and `event`
    /// are those that were asked.
    Waits found_done{};
    bool staged = false; ///< its host time is that of passing its bytes through the driver's host buffers
    Engine engine{};
    double least_ns = 0; ///< what a call of this entry takes that waits for nothing

    // The next fields describe the work that the call queues.
    bool wide = false; ///< a kernel that may fill the device: another gains nothing by running beside it
    std::uint64_t bytes = 0;
    std::uint64_t sample = 0; ///< of the DeviceTime record that may hold this work's device time
    double expected_ns = 0;   ///< on the device
    /// How far off `expected_ns` may be, from 0 (this work was measured) to 1 (a guess).
    double doubt = 1;

    CallNote* note = nullptr; ///< null: the user of the clock keeps nothing for it

    Call() noexcept {} // not defaulted: to fill it with zeros first takes longer
};

/// Kernels, graphs, host functions and copies inside a device.
inline bool launches(const Call& call) {
    return call.queues == Queues::work && call.engine == Engine::none;
}

} // namespace umadvisor::facts
