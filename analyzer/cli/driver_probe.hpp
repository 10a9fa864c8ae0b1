/// Asking the CUDA driver of this machine what it can do.
#pragma once

#include <string>
#include <vector>

namespace umadvisor::cli {

struct ProbedDevice {
    int ordinal = 0, major = 0, minor = 0;
    std::string name;
    bool managed = false, concurrent = false, pageable = false;
};

struct DriverProbe {
    std::string trouble; ///< one line; empty: the driver answered
    std::string path;
    int version = 0; ///< 1000 x major + 10 x minor
    std::vector<ProbedDevice> devices;
};

/// Loads libcuda.so.1 and initialises it in this process.
DriverProbe probe_driver();

} // namespace umadvisor::cli
