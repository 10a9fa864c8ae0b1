/// From argv to a subcommand.
#pragma once

namespace umadvisor::cli {

/// Parses, runs the subcommand and returns the exit status of the process. Errors are one line on stderr.
int run_command_line(int argc, const char* const* argv);

} // namespace umadvisor::cli
