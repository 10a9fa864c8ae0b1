/// The document that docs/report-schema.md describes.
#pragma once

#include "analyzer/advice/report.hpp"

#include <nlohmann/json_fwd.hpp>

namespace umadvisor::reports {

nlohmann::ordered_json to_json(advice::Report& report);

} // namespace umadvisor::reports
