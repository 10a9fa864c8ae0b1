/// What the commands that weigh stacks have in common.
#pragma once

#include "analyzer/cli/command.hpp"
#include "analyzer/reader/range_choice.hpp"
#include "analyzer/reports/weighed_stacks.hpp"
#include "analyzer/reports/weights.hpp"

#include <optional>

namespace umadvisor::cli {

/// --by.
OptionSpec weight_option();

/// The weight that --by names, by default time. If there is none of that name: a line on stderr, and nullopt.
std::optional<reports::Weight> weight_of(const Arguments& arguments);

/// The stacks of the trace that the arguments name, as they ask for them, inside `ranges` alone if any. What
/// could not be looked up, and that there is nothing to show, is said on stderr. Throws reader::Error.
reports::WeighedStacks weigh(const Arguments& arguments, reports::Weight by, const reader::RangeQuery& ranges);

} // namespace umadvisor::cli
