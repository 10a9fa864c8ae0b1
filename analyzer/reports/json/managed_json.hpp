/// Managed memory in the JSON report.
#pragma once

#include "analyzer/advice/report.hpp"

#include <nlohmann/json.hpp>

namespace umadvisor::reports {

/// Null where the trace has nothing on managed memory.
nlohmann::ordered_json managed_json(advice::Report& report);

} // namespace umadvisor::reports
