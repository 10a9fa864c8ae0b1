/// The steps of a run: NVTX ranges, else rounds of a loop.
#pragma once

#include "analyzer/reports/html/timeline/timeline.hpp"
#include "analyzer/symbols/symbolizer.hpp"
#include "trace/records.hpp"

#include <cstdint>
#include <unordered_map>
#include <vector>

namespace umadvisor::html {

/// Memory: bounded ranges, one entry for each stack that launches, and so many launches in all.
class Steps {
public:
    void add(const trace::Range& record, std::uint32_t thread, double time, double end_of_run);
    struct Rounds {
        std::uint64_t count = 0;
        std::vector<double> times; ///< of the first
    };
    /// Of what a stack launches. Stays where it is.
    Rounds& rounds(ids::StackId stack) { return rounds_[stack]; }
    void launched(Rounds& rounds, double time);
    /// Call once, at the end.
    void finish(Timeline& timeline, symbols::Symbolizer& symbolizer);

private:
    bool finish_ranges(Timeline& timeline);

    std::vector<StepPiece> ranges_;
    std::vector<std::vector<std::size_t>> open_;      ///< by thread
    std::unordered_map<ids::StackId, Rounds> rounds_; ///< by stack
    std::size_t kept_ = 0;
};

} // namespace umadvisor::html
