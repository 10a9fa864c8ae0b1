/// What `umadvisor top` shows of each process, in columns.
#pragma once

#include "analyzer/live/watch.hpp"

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace umadvisor::cli {

/// A title and, below it, a line for each process, all as wide as one another. In lines of so many columns (0:
/// any) the last figures are left out.
std::vector<std::string> top_lines(const std::vector<live::Watched>& processes, std::size_t width);

/// All figures of one process: "h2d 1.2 GB/s", ...
std::vector<std::string> top_figures(const live::Watched& process);

} // namespace umadvisor::cli
