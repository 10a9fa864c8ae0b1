/// The prices of this machine, in the traces of a run on it.
#pragma once

#include <string>
#include <vector>

namespace umadvisor::cli {

/// Adds what usual_rates() knows of a trace's device to each of these traces that carries no prices. The shim
/// has written them when the device was known before. Returns a line for each reason why one cannot have them.
std::vector<std::string> add_usual_rates(const std::vector<std::string>& paths);

} // namespace umadvisor::cli
