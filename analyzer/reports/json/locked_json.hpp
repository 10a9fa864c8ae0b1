/// Page-locked memory in the JSON report.
#pragma once

#include "analyzer/advice/report.hpp"

#include <nlohmann/json.hpp>

namespace umadvisor::reports {

/// Null where the program locks none.
nlohmann::ordered_json locked_json(advice::Report& report);

} // namespace umadvisor::reports
