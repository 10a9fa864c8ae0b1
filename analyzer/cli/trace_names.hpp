/// Names of the traces that a run makes.
#pragma once

#include <string>
#include <vector>

namespace umadvisor::cli {

/// Why a trace cannot be written to `output` (empty: to the working directory); empty: it can. `force` allows
/// an existing file.
std::string output_trouble(const std::string& output, bool force);

/// `output` and its siblings with a pid before the suffix, as further processes of a run name them. Sorted by
/// name, `output` itself first.
std::vector<std::string> find_traces(const std::string& output);

} // namespace umadvisor::cli
