/// Every way to have umadvisor read a trace.
#pragma once

#include "output_check.hpp"

#include <string>
#include <string_view>
#include <vector>

namespace umadvisor::fuzz {

inline constexpr std::string_view output_file = "packed.umtrace"; ///< of the commands that write one

struct CommandLine {
    std::vector<std::string> arguments; ///< TRACE, OTHER and BASELINE stand for files
    Format format = Format::text;
    bool gate = false; ///< exit status 3 says that there are findings

    bool reads(const std::string& file) const; ///< one of these
    std::string name() const;                  ///< the arguments with blanks between
};

/// All command lines, one for each subcommand, format and choice of what is shown. Throws std::logic_error when
/// a subcommand, or an option of one, is neither in them nor among those that are left out.
std::vector<CommandLine> command_lines();

} // namespace umadvisor::fuzz
