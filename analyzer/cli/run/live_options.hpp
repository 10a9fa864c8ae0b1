/// Options of `umadvisor run` for recordings of a part of the run: on request, of its end, or under a
/// condition.
#pragma once

#include "analyzer/cli/command.hpp"
#include "analyzer/cli/run/launcher.hpp"

#include <string>
#include <vector>

namespace umadvisor::cli {

/// `own` followed by them.
std::vector<OptionSpec> with_live_options(std::vector<OptionSpec> own);

/// What is wrong with them; empty: nothing.
std::string live_trouble(const Arguments& arguments);

/// Returns whether the options, or the variables of this process, start the program in standby, so that it may
/// end without a trace.
bool records_on_request(const Arguments& arguments);

/// Adds the variables of the shim that they set.
void add_live_settings(Environment& environment, const Arguments& arguments);

} // namespace umadvisor::cli
