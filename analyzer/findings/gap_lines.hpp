/// Waits after which the device had nothing to do, by the line that waited.
#pragma once

#include "analyzer/findings/edited_calls.hpp"
#include "analyzer/findings/finding.hpp"

namespace umadvisor::findings {

struct GapLine {
    std::uint64_t gaps = 0, entry = 0, next_stack = 0;
    double waited_ns = 0, idle_ns = 0, overlap_ns = 0;
    EditedCalls calls, behind; ///< the waits, and calls in the gaps that would wait in their place
};

/// What one rule says of a line, in `finding`, which has its rule, lines, numbers, saving and basis already.
using DescribeGap = void (*)(const model::Profile&, const GapLine&, Finding&);

/// The lines that waited for this reason and cost enough, with `rule`. Nothing where the trace does not tell
/// all work.
std::vector<Finding> find_gaps(const model::Profile& profile, const LineOf& line_of, const Rule& rule,
                               model::WaitReason reason, DescribeGap describe);

/// "cudaDeviceSynchronize 100 times: the host waited 10 ms for the device, and the device then 12 ms for the
/// host"
std::string turns_text(const model::Profile& profile, const GapLine& line);

} // namespace umadvisor::findings
