/// The tables of `umadvisor stats`.
#pragma once

#include "analyzer/advice/report.hpp"
#include "analyzer/text/table.hpp"

#include <array>
#include <string_view>
#include <vector>

namespace umadvisor::reports {

/// In the order in which they are printed.
inline constexpr std::array<std::string_view, 7> stats_tables{
    "api", "copies", "copy-sizes", "allocations", "page-locked", "kernels", "managed"};

/// The report must have been made with statistics. `name` is one of stats_tables.
text::Table stats_table(advice::Report& report, std::string_view name);

} // namespace umadvisor::reports
