/// Asking the CUDA driver of this machine what it can do.
#pragma once

#include "analyzer/machine/memory_mode.hpp"

#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

namespace umadvisor::cli {

struct ProbedDevice {
    int ordinal = 0, major = 0, minor = 0;
    std::string name;
    bool managed = false, concurrent = false, pageable = false;
    bool prohibited = false; ///< its compute mode lets no process make a context
    machine::MemoryMode mode = machine::MemoryMode::discrete;
};

struct DriverProbe {
    std::string trouble; ///< one line, with what to do; empty: the driver answered
    std::string path;
    int version = 0; ///< 1000 x major + 10 x minor
    std::vector<ProbedDevice> devices;
};

/// Loads libcuda.so.1 and initialises it in this process: that may take seconds, and a broken driver may end
/// the process or never answer. Makes no context.
DriverProbe probe_driver();

/// "CUDA_ERROR_NO_DEVICE (no CUDA-capable device is detected): ..." and what to do about it. `name` and `words`
/// are the driver's own, empty where it has none.
std::string refusal_text(int status, const std::string& name, const std::string& words);

nlohmann::json to_json(const DriverProbe& probe);
/// Throws nlohmann::json::exception where `document` is none of to_json().
DriverProbe probe_of(const nlohmann::json& document);

} // namespace umadvisor::cli
