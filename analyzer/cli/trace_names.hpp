/// Names of the traces that a run makes.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace umadvisor::cli {

/// `output` as the first process of this rank names its trace: with the rank before the suffix, where this
/// process is a rank of a job.
std::string rank_output(const std::string& output);

/// Why a trace cannot be written to `output` (empty: to the working directory); empty: it can. `force` allows
/// an existing file.
std::string output_trouble(const std::string& output, bool force);

/// `output` and its siblings with a pid before the suffix, as further processes of a run name them. Sorted by
/// name, `output` itself first.
std::vector<std::string> find_traces(const std::string& output);

struct FoundTrace {
    std::string path; ///< absolute
    std::string pid;
};

/// Traces that were begun at `begin` (nanoseconds of CLOCK_REALTIME) or later: of those that find_traces()
/// finds, or of all in the working directory where `output` is empty, since a process then names its trace
/// after its program, which is unknown here. What a killed process left in memory is written to them.
std::vector<FoundTrace> find_traces_since(const std::string& output, std::uint64_t begin);

} // namespace umadvisor::cli
