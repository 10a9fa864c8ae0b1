/// Where libumadvisor.so is.
#pragma once

#include <string>

namespace umadvisor::cli {

/// Path of the shim beside this binary (in ../lib/umadvisor or the like where it is installed, ../lib in the
/// build tree and in a bundle), or empty.
std::string find_shim();

/// Why `shim`, as find_shim() has it, cannot be preloaded; empty: it can.
std::string shim_trouble(const std::string& shim);

/// Whether the dynamic loader finds a CUDA driver (libcuda.so.1). Loads it, does not initialise it.
bool driver_found();

} // namespace umadvisor::cli
