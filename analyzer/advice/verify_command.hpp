/// The command line that shows whether a finding's remedy pays.
#pragma once

#include "analyzer/advice/report.hpp"

#include <string>

namespace umadvisor::advice {

/// A trial with the action of umadvisor that does what the rule advises. Where there is none: a second run, of
/// the changed program, and its comparison with this one.
std::string verify_command(const Report& report, const rules::Rule& rule);

} // namespace umadvisor::advice
