/// Every way to have umadvisor read a trace.
#pragma once

#include "output_check.hpp"

#include <string>
#include <vector>

namespace umadvisor::fuzz {

struct CommandLine {
    std::vector<std::string> arguments; ///< TRACE, OTHER, BASELINE and OUT stand for files
    Format format = Format::text;
    bool gate = false; ///< exit status 3 says that there are findings

    std::string name() const; ///< the arguments with blanks between
};

/// All command lines, one for each subcommand, format and choice of what is shown. Throws std::logic_error when
/// a subcommand, or an option of one, is neither in them nor among those that are left out.
std::vector<CommandLine> command_lines();

} // namespace umadvisor::fuzz
