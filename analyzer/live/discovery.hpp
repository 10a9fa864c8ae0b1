/// The processes that can be asked.
#pragma once

#include "analyzer/live/connection.hpp"

#include <set>
#include <string>
#include <utility>
#include <vector>

namespace umadvisor::live {

struct Discovery {
    std::vector<Connection> connections; ///< in the order of their numbers
    std::vector<std::string> refusals;   ///< why others are not used, one line each, none twice
};

/// By pid and number in its own namespace, as Process has them.
using Known = std::set<std::pair<pid_t, pid_t>>;

/// Connects to all of this user's processes that have a control socket, those in the folder of
/// UMADVISOR_CONTROL included that are in PID namespaces which are not seen here. `known` are left out.
Discovery discover(const Known& known = {});

/// Connects to one; with a refusal, or with neither where it has no control socket.
Discovery discover(const Process& process);

} // namespace umadvisor::live
