/// Copies, and pageable memory that kernels reach, as the JSON report has them (docs/report-schema.md).
#pragma once

#include "analyzer/advice/report.hpp"

#include <nlohmann/json_fwd.hpp>

namespace umadvisor::reports {

/// By direction and memory.
nlohmann::ordered_json copies_json(const rules::Profile& profile);
/// Those that umadvisor staged.
nlohmann::ordered_json staged_json(const rules::Profile& profile);
/// Adds `copy_lines` to the document: the lines whose copies took longest.
void put_copy_lines(advice::Report& report, nlohmann::ordered_json& document);
nlohmann::ordered_json pageable_json(advice::Report& report);

} // namespace umadvisor::reports
