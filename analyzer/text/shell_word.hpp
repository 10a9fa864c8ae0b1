#pragma once

#include <string>
#include <string_view>

namespace umadvisor::text {

/// A word of a command line, quoted where a shell would not read it back as it is.
std::string shell_word(std::string_view word);
/// The words of a command line, a blank between two, of which each ends with a zero byte (proc_pid_cmdline(5)).
std::string shell_words(std::string_view words);
/// What a person calls a process: the file name of its executable, or of the script, or the module, that an
/// interpreter of Python runs. `command_line` is as that of shell_words().
std::string program_name(std::string_view executable, std::string_view command_line);
/// The same as shell_word() for a path, which must not look like an option.
std::string shell_path(const std::string& path);

} // namespace umadvisor::text
