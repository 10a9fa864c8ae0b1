/// What a process does in a second.
#pragma once

#include "analyzer/live/counters.hpp"

#include <array>
#include <optional>

namespace umadvisor::live {

struct Rates {
    double seconds = 0;                                ///< between the two readings
    std::array<double, std::size(copy_kinds)> bytes{}; ///< copied, a second, by kind
    std::optional<double> pageable_share;              ///< of bytes copied; nothing: none were copied
    double to_device_bytes = 0, to_host_bytes = 0;     ///< of managed memory, a second
    double faults = 0;                                 ///< of devices and host, a second
    double thrashing = 0;                              ///< a second
    double wait_share = 0;                 ///< of one thread's time; more than 1: of several threads
    double launches = 0;                   ///< of kernels and graphs, a second
    double act_actions = 0, act_bytes = 0; ///< a second
};

/// Between two readings. What became less counts as 0; rates of readings at one moment are 0.
Rates rates_between(const Counters& before, const Counters& after);

} // namespace umadvisor::live
