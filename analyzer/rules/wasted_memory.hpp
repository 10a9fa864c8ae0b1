/// What rules on memory that could be spared at the peak have in common.
#pragma once

#include "analyzer/rules/finding.hpp"

namespace umadvisor::rules {

/// Allocations of one line that were wasted for one reason, and live when the most was.
struct WastedLine {
    std::uint64_t count = 0;
    std::uint64_t bytes = 0, held_bytes = 0; ///< by which the peak could be lower; of all these allocations
    std::uint64_t entry = 0;
    ids::StackId other{};         ///< stack: where memory was made that this could have served for; 0: none
    std::uint64_t peak_bytes = 0; ///< of that kind of memory on that device
    double idle_ns = 0, life_ns = 0, call_ns = 0; ///< sums
    double mean_idle_ns() const { return idle_ns / static_cast<double>(count); }
    double mean_life_ns() const { return life_ns / static_cast<double>(count); }
};

/// What one rule says of a line: `finding` has its numbers and saving already.
using DescribeWaste = void (*)(const Profile&, const WastedLine&, Finding&);

/// The lines at which the waste is worth a change, each once, with `rule`. Nothing where the trace does not
/// have all uses of memory.
std::vector<Finding> find_wasted(const Profile& profile, const LineOf& line_of, const Rule& rule,
                                 trace::Memory memory, tables::Waste waste, DescribeWaste describe);
/// The same as a rule's `find`, for one kind of memory.
template <const Rule& rule, trace::Memory memory, tables::Waste waste, DescribeWaste describe>
std::vector<Finding> find_wasted(const Profile& profile, const LineOf& line_of) {
    return find_wasted(profile, line_of, rule, memory, waste, describe);
}

/// "cudaMalloc of 64 MiB", "cudaMalloc of 16 MiB on average, 4 times"
std::string allocations_text(const Profile& profile, const WastedLine& line);

/// Idle memory matters where the device is short of it.
Confidence confidence_at_peak(const Profile& profile, const WastedLine& line);

} // namespace umadvisor::rules
