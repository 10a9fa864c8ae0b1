/// Traces to start from: those of the tests, the fuzzer's corpus, and made-up ones of kinds that once cost
/// much.
#pragma once

#include "hostile_values.hpp"
#include "trace_image.hpp"

#include <string>
#include <vector>

namespace umadvisor::fuzz {

/// Committed traces: all *.umtrace of `golden`, all files of `corpus`, and small ones of known programs.
std::vector<TraceImage> starting_traces(const std::string& golden, const std::string& corpus);

/// A new one at each call, below a megabyte.
TraceImage made_up_trace(Random& random);

} // namespace umadvisor::fuzz
