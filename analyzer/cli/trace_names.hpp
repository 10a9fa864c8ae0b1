/// Names of the traces that a run makes.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace umadvisor::cli {

/// Why a trace cannot be written to `output` (empty: to the working directory); empty: it can. `force` allows
/// an existing file.
std::string output_trouble(const std::string& output, bool force);

/// Traces that processes made since `since_ns` (CLOCK_REALTIME): `output` and its siblings with a pid before
/// the suffix, or, with `output` empty, *.umtrace in the working directory. Sorted by name, `output` itself
/// first.
std::vector<std::string> find_traces(const std::string& output, std::int64_t since_ns);

} // namespace umadvisor::cli
