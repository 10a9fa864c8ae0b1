/// Options that say which ranges (NVTX) of a program are looked at.
#pragma once

#include "analyzer/cli/command.hpp"
#include "analyzer/reader/range_choice.hpp"

#include <optional>
#include <vector>

namespace umadvisor::cli {

/// `options`, --range and --domain.
std::vector<OptionSpec> with_range_options(std::vector<OptionSpec> options);

/// Nothing, and one line on stderr: they make no sense.
std::optional<reader::RangeQuery> range_query(const Arguments& arguments);

} // namespace umadvisor::cli
