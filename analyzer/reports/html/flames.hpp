/// What the flame graph is made of.
#pragma once

#include "analyzer/advice/report.hpp"
#include "analyzer/reports/html/timeline/timeline.hpp"

#include <nlohmann/json.hpp>

namespace umadvisor::html {

/// Stacks, their frames as numbers, by time, bytes copied and page faults, where recorded.
nlohmann::ordered_json flames_json(advice::Report& report, const Timeline& timeline);

} // namespace umadvisor::html
