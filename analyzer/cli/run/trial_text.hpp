/// Trials as text and JSON.
#pragma once

#include "analyzer/cli/run/trial.hpp"

#include <iosfwd>
#include <nlohmann/json_fwd.hpp>

namespace umadvisor::cli {

/// "gain", "loss", or "no gain" where the interval includes 1.
const char* verdict(const SpeedRatio& ratio);

/// Lines with the times of both arms, with what differs in the results, and with the ratio of the times.
void write_trial(const Trial& trial, std::ostream& out);

/// Adds `runs`, `simulated_time`, the command and times (in seconds) of each arm under its name, `speed_ratio`
/// and `verdict`; the last two are null where there is no ratio.
void add_times(nlohmann::ordered_json& document, const Trial& trial);
/// Adds `equal` and `differences`.
void add_results(nlohmann::ordered_json& document, const Trial& trial);

} // namespace umadvisor::cli
