/// Names of the traces that processes write on request.
#pragma once

#include "analyzer/live/process.hpp"
#include "analyzer/live/request.hpp"

#include <cstddef>
#include <string>

namespace umadvisor::cli {

class OutputNames {
public:
    /// `given` is the value of -o, or empty; `processes` is how many get a name.
    OutputNames(const std::string& given, std::size_t processes);

    /// With the name for this process, if there is one: absolute, and with the PID where there are several.
    live::Request add_to(live::Request request, const live::Process& process) const;

private:
    std::string given_;
    bool several_;
};

/// Where a trace that a process calls `file` is found here; `file` where it is not found at all.
std::string reached_trace(const live::Process& process, const std::string& file);

} // namespace umadvisor::cli
