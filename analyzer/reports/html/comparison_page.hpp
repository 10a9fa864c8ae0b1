/// A comparison as one HTML file: `umadvisor diff --html`.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>

namespace umadvisor::html {

/// `document`: what docs/comparison.md describes. All numbers of the page are from it.
std::string comparison_page(const nlohmann::ordered_json& document, std::string_view version);

} // namespace umadvisor::html
