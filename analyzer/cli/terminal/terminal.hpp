/// What standard output is shown on.
#pragma once

#include "analyzer/cli/command.hpp"
#include "analyzer/text/terminal_text.hpp"

#include <optional>
#include <vector>

namespace umadvisor::cli {

/// `own` and --color.
std::vector<OptionSpec> with_terminal_option(std::vector<OptionSpec> own);

/// From --color, the environment (COLUMNS, NO_COLOR, TERM) and standard output. Nothing, and one line on
/// stderr:
/// --color has no such value.
std::optional<text::Terminal> terminal(const Arguments& arguments);

} // namespace umadvisor::cli
