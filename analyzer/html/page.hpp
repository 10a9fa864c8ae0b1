/// A report as one HTML file: `umadvisor report --html`.
#pragma once

#include "analyzer/reports/report.hpp"

#include <functional>
#include <string>
#include <string_view>

namespace umadvisor::html {

/// Whether umadvisor was built with what the page is made of.
bool available();

struct PageOptions {
    bool with_source = true;                                           ///< quote lines of the source
    std::function<std::string_view(std::string_view id)> page_of_rule; ///< as `umadvisor explain` prints it
    std::string_view version;
};

/// A document that loads nothing from anywhere. Its numbers are those of reports::to_json. The report must have
/// been made with statistics. Reads the trace once more; throws reader::Error where that fails.
std::string page(reports::Report& report, const PageOptions& options);

} // namespace umadvisor::html
