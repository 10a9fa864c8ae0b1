/// --by, of the commands that weigh stacks.
#pragma once

#include "analyzer/cli/command.hpp"
#include "analyzer/model/weights.hpp"

#include <optional>

namespace umadvisor::cli {

/// Its place in a command's options.
OptionSpec weight_option();

/// What --by asks for, by default time blocked; nullopt, with a line on stderr, where there is no such weight.
std::optional<model::Weight> weight_of(const Arguments& arguments);

} // namespace umadvisor::cli
