#pragma once

#include <cstdint>
#include <string>

namespace simcuda {

/// Has the process share the memory of its devices with all others that name the same file
/// (SIMCUDA_CONFIG=card=FILE), which is made. What a process holds when it ends stays in use. Two processes
/// that ask at the same moment may both get the last of it.
void share_card(const std::string& file);
/// Tells the other processes how much of a device this one holds.
void publish_use(int device, std::uint64_t bytes);
/// What the other processes hold of a device, by what they have published.
std::uint64_t used_by_others(int device);

} // namespace simcuda
