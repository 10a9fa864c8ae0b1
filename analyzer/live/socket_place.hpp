/// Where the control socket of a process may be.
#pragma once

#include "analyzer/live/process.hpp"

#include <string>
#include <vector>

namespace umadvisor::live {

struct SocketPlace {
    std::string folder;   ///< absolute; empty: the abstract namespace
    bool private_ = true; ///< the folder must be this user's alone, as that of the session is

    bool operator==(const SocketPlace&) const = default;
};

/// In the order in which they are to be tried: what this process's environment says, what the other's says,
/// the abstract namespace. A process without a number here has the shared folder alone.
std::vector<SocketPlace> places_of(const Process& process);

/// The folder that UMADVISOR_CONTROL of this process names; empty: none.
std::string shared_folder();

} // namespace umadvisor::live
