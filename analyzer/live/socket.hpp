/// Connects to the control socket in a place.
#pragma once

#include "analyzer/live/process.hpp"
#include "analyzer/live/socket_place.hpp"

namespace umadvisor::live {

/// A connected socket that does not block, which the caller closes; -1: there is none. Throws reader::Error
/// where what is there is not this process's own.
int connect_to(const SocketPlace& place, const Process& process);

} // namespace umadvisor::live
