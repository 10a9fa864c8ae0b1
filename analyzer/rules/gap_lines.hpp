/// Waits after which the device had nothing to do, by the line that waited.
#pragma once

#include "analyzer/rules/edited_calls.hpp"
#include "analyzer/rules/finding.hpp"
#include "analyzer/rules/sync/idle_gaps.hpp"

#include <initializer_list>

namespace umadvisor::rules {

struct GapLine {
    std::uint64_t gaps = 0, queued = 0, entry = 0;
    ids::StackId next_stack{};
    double waited_ns = 0, idle_ns = 0, overlap_ns = 0;
    double turn_ns = 0;        ///< that calls took after which the host worked
    bool frees = true;         ///< all of them free memory
    bool inputs = true;        ///< all of them wait for uploads
    EditedCalls calls, behind; ///< these calls, and those in the gaps that would wait in their place
};

/// What one rule says of a line, in `finding`, which has its numbers, saving and basis already.
using DescribeGap = void (*)(const Profile&, const GapLine&, Finding&);

/// The lines that waited for these reasons and cost enough, with `rule`. Nothing where the trace does not have
/// all work.
std::vector<Finding> find_gaps(const Profile& profile, const LineOf& line_of, const Rule& rule,
                               std::initializer_list<WaitReason> reasons, DescribeGap describe);
/// The same as a rule's `find`.
template <const Rule& rule, DescribeGap describe, WaitReason... reasons>
std::vector<Finding> find_gaps(const Profile& profile, const LineOf& line_of) {
    return find_gaps(profile, line_of, rule, {reasons...}, describe);
}

/// "cudaDeviceSynchronize 100 times: the host waited 10 ms for the device, and the device then 12 ms for the
/// host"
std::string turns_text(const Profile& profile, const GapLine& line);

} // namespace umadvisor::rules
