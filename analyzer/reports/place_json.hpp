/// Places in the source as the JSON report has them.
#pragma once

#include "analyzer/advice/resolved.hpp"

#include <cstdint>
#include <nlohmann/json.hpp>

namespace umadvisor::reports {

/// Null for stack 0.
nlohmann::ordered_json place_json(const advice::ResolvedPlace& at);

/// The line of a stack; null for stack 0.
nlohmann::ordered_json place_json(advice::Report& report, ids::StackId stack);

} // namespace umadvisor::reports
