/// Runs as https://ui.perfetto.dev and trace_processor read them.
#pragma once

#include "analyzer/advice/report.hpp"
#include "analyzer/reports/perfetto/perfetto_file.hpp"

#include <functional>
#include <set>
#include <string_view>

namespace umadvisor::reports {

/// Writes runs as one trace of Perfetto's: each a process with its threads, devices, streams and memory.
/// docs/perfetto.md says what is in it. Memory: what a walk over a run takes, live allocations, distinct stacks
/// and names, and a track for each thread, stream and allocating line; it does not grow with events.
class PerfettoExport {
public:
    explicit PerfettoExport(std::function<void(std::string_view)> write) : file_(std::move(write)) {}

    /// Reads the events of the report's trace once more. Throws what `write` throws.
    void add(advice::Report& report);
    /// Call once, after the last.
    void finish() { file_.finish(); }

private:
    std::int64_t shift_of(const advice::Report& report);

    perfetto::PacketFile file_;
    std::set<std::int64_t> ids_; ///< processes and threads that were written
    std::uint64_t runs_ = 0;
};

} // namespace umadvisor::reports
