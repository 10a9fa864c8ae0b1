/// Options that say which findings count.
#pragma once

#include "analyzer/advice/selection.hpp"
#include "analyzer/cli/command.hpp"

#include <optional>
#include <vector>

namespace umadvisor::cli {

/// `options`, those of stacks, and those that choose findings.
std::vector<OptionSpec> with_finding_options(std::vector<OptionSpec> options);

/// Nothing, and one line on stderr, where a pattern is none. Throws Error for a suppressions file that cannot
/// be read.
std::optional<advice::Selection> selection(const Arguments& arguments);

/// --fail-on; nothing where it was not given. False, and one line on stderr: there is no such confidence.
bool read_fail_on(const Arguments& arguments, std::optional<rules::Confidence>& least);

} // namespace umadvisor::cli
