/// What umadvisor did, as the JSON report has it.
#pragma once

#include "analyzer/advice/report.hpp"

#include <nlohmann/json.hpp>

namespace umadvisor::reports {

/// Null where it did nothing and was refused nothing.
nlohmann::ordered_json actions_json(advice::Report& report);

} // namespace umadvisor::reports
