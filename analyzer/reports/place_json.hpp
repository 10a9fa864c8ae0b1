/// Places in the source as the JSON report has them.
#pragma once

#include "analyzer/reports/resolved.hpp"

#include <cstdint>
#include <nlohmann/json.hpp>

namespace umadvisor::reports {

/// Null for stack 0.
nlohmann::ordered_json place_json(const ResolvedPlace& at);

/// The line of a stack; null for stack 0.
nlohmann::ordered_json place_json(Report& report, std::uint64_t stack);

} // namespace umadvisor::reports
