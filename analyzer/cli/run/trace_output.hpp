/// What commands do that make one file of traces.
#pragma once

#include "analyzer/cli/command.hpp"
#include "analyzer/cli/output_file.hpp"

#include <functional>
#include <string>
#include <sys/types.h>

namespace umadvisor::cli {

/// Throws reader::Error where `output` is the file that is read.
void check_is_not_input(const std::string& output, const std::string& input);

/// Has `write` fill the file that --output names, and gives it that name when all of it is there. Without the
/// option it says `usage`. Returns the exit status. `mode`: as for open(). Throws reader::Error where the file
/// would replace a trace that it is made from, as OutputFile does, and what `write` throws.
int write_output(const Arguments& arguments, const std::string& usage, mode_t mode,
                 const std::function<void(OutputFile&)>& write);

} // namespace umadvisor::cli
