/// Walks through a run once more, giving each call with the time of the work that it queued on a device.
/// Exports of whole runs use this.
#pragma once

#include "analyzer/advice/report.hpp"
#include "analyzer/facts/contexts.hpp"
#include "analyzer/facts/direction.hpp"
#include "analyzer/reader/thread_cursor.hpp"

#include <array>
#include <cstdint>

namespace umadvisor::reports {

enum class WorkKind : std::uint8_t { none, kernel, copy, set, prefetch, graph, host_function };

/// Times are nanoseconds since the trace began.
struct WalkedCall : facts::CallNote {
    std::uint32_t thread = 0; ///< as the file numbers it
    std::uint64_t entry = 0;
    ids::StackId stack{};
    std::uint64_t status = 0; ///< CUresult
    std::int64_t start_ns = 0;
    std::uint64_t duration_ns = 0;
    bool measured = true;        ///< false: `duration_ns` is what such launches take
    std::uint64_t waited_ns = 0; ///< of `duration_ns`, for work that was queued before
    bool by_umadvisor = false;
    bool part = false;       ///< no call of its own: one more copy of a batch
    std::uint64_t bytes = 0; ///< copied, set, prefetched or allocated

    WorkKind work{}; ///< none: it queued nothing, or failed, or became a node of a graph
    facts::Contexts::Place place;
    trace::StreamId stream{};
    std::int64_t work_start_ns = 0, work_end_ns = 0; ///< as fitted to the waits of the run
    std::uint64_t work_ns = 0;
    bool work_measured = false; ///< by the device; false: fitted to the waits of the run

    std::uint64_t function = 0; ///< of a kernel
    std::array<std::uint64_t, 3> grid{}, block{};
    std::uint64_t shared_bytes = 0;
    bool copies = false; ///< a copy, also one that failed or did not run; so is what follows
    facts::Direction direction{};
    trace::Memory source{}, destination{};
    trace::AllocationId source_allocation{}, destination_allocation{};
    bool asynchronous = false, staged = false;

    std::int64_t end_ns() const;
};

class RunObserver {
public:
    virtual ~RunObserver() = default;
    /// Each event, in the order of time.
    virtual void event(const reader::ThreadCursor& cursor) = 0;
    /// Each call, once its place in time is known: up to timeline::Clock::window calls later, in their order.
    virtual void call(const WalkedCall& call) = 0;
};

/// Reads the events of the report's trace once more. Memory: that of a clock.
void walk(advice::Report& report, RunObserver& observer);

} // namespace umadvisor::reports
