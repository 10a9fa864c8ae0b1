/// What a user calls the program.
#pragma once

#include <string_view>

namespace umadvisor::control {

/// Reads the command line. Before that the name is empty.
void remember_program_name() noexcept;

/// The file's name without its folders; of an interpreter of Python its script or module: "train.py".
std::string_view program_name() noexcept;

/// The same of a command line as /proc/self/cmdline has it: words that each end with a zero.
std::string_view name_in(std::string_view command_line) noexcept;

} // namespace umadvisor::control
