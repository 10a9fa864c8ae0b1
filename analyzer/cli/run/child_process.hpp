/// Child processes for work that may crash or hang.
#pragma once

#include "analyzer/cli/run/launcher.hpp"

#include <chrono>
#include <string>
#include <vector>

namespace umadvisor::cli {

struct ChildResult {
    int status = 0;     ///< exit status, or 128+N when signal N ended it; 127 when it could not be started
    bool ended = false; ///< by itself and in time; else it was killed
    std::string out, err;
};

/// Runs `path` with `arguments` (the first is its name), without standard input, and collects what it writes.
/// Waits as long as is `allowed`, then kills it. A process that not even that ends (it waits inside the
/// kernel's part of a driver) is left behind.
ChildResult run_child(const std::string& path, const std::vector<std::string>& arguments,
                      const Environment& environment, std::chrono::milliseconds allowed);

} // namespace umadvisor::cli
