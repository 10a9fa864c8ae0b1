/// Options of the commands that show stacks.
#pragma once

#include "analyzer/cli/command.hpp"
#include "analyzer/symbols/options.hpp"

#include <vector>

namespace umadvisor::cli {

/// `own` followed by the options that all such commands share.
std::vector<OptionSpec> with_stack_options(std::vector<OptionSpec> own);

/// The same with those alone that say where symbols come from.
std::vector<OptionSpec> with_symbol_options(std::vector<OptionSpec> own);

/// Throws reader::Error where one cannot be followed.
symbols::Options stack_options(const Arguments& arguments);
/// As without any of them.
symbols::Options stack_options();
/// The same without a line on the terminal that says how far reading is.
symbols::Options silent_stack_options();

} // namespace umadvisor::cli
