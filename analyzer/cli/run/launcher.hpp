/// Running the program.
#pragma once

#include <string>
#include <utility>
#include <vector>

namespace umadvisor::cli {

/// Variables to set in the program's environment, over those of this process.
using Environment = std::vector<std::pair<std::string, std::string>>;

/// "NAME=value" of this process's variables with those of `environment` over them.
std::vector<std::string> merged_environment(const Environment& environment);
/// `texts` as execve(2) takes them, ending in a null; they point into `texts`.
std::vector<char*> pointers(const std::vector<std::string>& texts);

/// What preloads `shim` (before what is preloaded already) and has it write `output`, by its own rule where
/// that is empty.
Environment preload_environment(const std::string& shim, const std::string& output);

/// Files in the place of a program's standard streams; empty: it shares ours. `out` and `err` may be one file.
struct StandardStreams {
    std::string in, out, err;
};

/// Runs `path` with `arguments` (the first is its name) and waits for it. It shares our process group, so the
/// terminal's signals reach it by themselves and are ignored here meanwhile; SIGTERM, SIGHUP, SIGUSR1 and
/// SIGUSR2 are passed on. Returns its exit status, 128+N when signal N ended it, 126 or 127 when it could not
/// be started (after one line on stderr); which of both it was stands in `started`, where that is given.
int run_program(const std::string& path, const std::vector<std::string>& arguments,
                const Environment& environment, const StandardStreams& streams = {}, bool* started = nullptr);

} // namespace umadvisor::cli
