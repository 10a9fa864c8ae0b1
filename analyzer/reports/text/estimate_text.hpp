/// How sure the estimates of a report are, in words.
#pragma once

#include "analyzer/advice/report.hpp"

#include <string>

namespace umadvisor::reports {

/// What the recorded calls leave open: a bound that is the saving itself is not repeated.
std::string bounds_text(const rules::Finding& finding);
/// What the run would take with all remedies. Empty where one finding says it, or some were left out.
std::string together_text(const advice::Report& report);
/// How well the clock predicts times. Empty: the run has no waits to check it against.
std::string replay_text(const advice::Report& report);

} // namespace umadvisor::reports
