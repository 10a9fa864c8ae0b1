/// What reports say of the ranges that a program names (NVTX).
#pragma once

#include "analyzer/advice/report.hpp"

#include <nlohmann/json_fwd.hpp>
#include <string>

namespace umadvisor::reports {

/// "\"train_step\" x 200, median 12.1 ms, worst 58.3 ms (step 17: ...)": of the outermost ranges of one name
/// that recur and take most of the time, or of those that are looked at. Empty where there are none.
std::string steps_text(advice::Report& report);

/// What is looked at: "ranges called \"train_step\": 200, 2.42 s of 5.1 s"; empty where all of the run is.
std::string looked_at_text(const advice::Report& report);

/// As docs/report-schema.md has it: the longest in all first.
nlohmann::ordered_json ranges_json(advice::Report& report);
/// The ranges that are looked at; null where all of the run is.
nlohmann::ordered_json looked_at_json(const advice::Report& report);

} // namespace umadvisor::reports
