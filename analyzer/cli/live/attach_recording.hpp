/// `umadvisor attach PID` without a further word records until Ctrl-C and prints the report.
#pragma once

#include "analyzer/cli/live/chosen.hpp"
#include "analyzer/cli/live/output_names.hpp"

#include <cstdint>
#include <optional>

namespace umadvisor::cli {

/// Records until Ctrl-C, for `for_ns`, or until the last process has ended; then prints the report of the
/// traces. Returns the exit status.
int record_and_report(Chosen chosen, const OutputNames& outputs, const std::optional<std::uint64_t>& for_ns);

} // namespace umadvisor::cli
