/// A comparison as one HTML file: `umadvisor diff --html`.
#pragma once

#include "analyzer/reports/html/over_time.hpp"

#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <string_view>

namespace umadvisor::html {

/// `document`: what docs/comparison.md describes. The numbers of the page are from it, but for the picture of
/// both runs over time, which it has where both are traces.
std::string comparison_page(const nlohmann::ordered_json& document, std::string_view version,
                            const std::optional<OverTime>& before, const std::optional<OverTime>& after);

} // namespace umadvisor::html
