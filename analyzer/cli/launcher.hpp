/// Running the program.
#pragma once

#include <string>
#include <utility>
#include <vector>

namespace umadvisor::cli {

/// Variables to set in the program's environment, over those of this process.
using Environment = std::vector<std::pair<std::string, std::string>>;

/// LD_PRELOAD with `shim` before what is there already.
std::string preload_value(const std::string& shim);

/// Runs `path` with `arguments` (the first is its name) and waits for it. It shares our process group, so the
/// terminal's signals reach it by themselves and are ignored here meanwhile; SIGTERM, SIGHUP, SIGUSR1 and
/// SIGUSR2 are passed on. Returns its exit status, 128+N when signal N ended it, 126 when it could not be
/// started (after one line on stderr).
int run_program(const std::string& path, const std::vector<std::string>& arguments,
                const Environment& environment);

} // namespace umadvisor::cli
