/// NVTX ranges as tracks.
#pragma once

#include "analyzer/reports/perfetto/perfetto_run.hpp"
#include "trace/lifecycle_records.hpp"

#include <cstdint>
#include <map>
#include <memory>
#include <utility>
#include <vector>

namespace umadvisor::reports::perfetto {

/// Pushed ranges and marks on a track of their thread and domain, started ones, which may lie across each
/// other, on as many tracks of the process as they need.
class RangeTracks {
public:
    /// `run` must outlive it.
    explicit RangeTracks(Run& run) : run_(run) {}

    /// `parent`: the track of the thread that the record is of.
    void add(const trace::Range& record, std::uint32_t thread, std::uint64_t parent);
    void finish(std::int64_t end);

private:
    SliceTrack& pushed(std::uint64_t domain, std::uint32_t thread, std::uint64_t parent);
    SliceTrack& started(const trace::Range& record);

    Run& run_;
    std::map<std::pair<std::uint32_t, std::uint64_t>, std::unique_ptr<SliceTrack>> pushed_; ///< thread, domain
    std::vector<std::unique_ptr<SliceTrack>> started_;
    std::map<std::uint64_t, std::size_t> open_; ///< of started_, by id
};

} // namespace umadvisor::reports::perfetto
