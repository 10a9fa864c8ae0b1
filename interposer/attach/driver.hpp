/// Finding the driver, and knowing its addresses.
#pragma once

#include "interposer/attach/entries.hpp"

#include <cstdint>

namespace umadvisor::attach {

/// Finds the real dlsym: glibc's, or that of another preloaded library behind us. Cheap when it is found
/// already.
void find_real_dlsym() noexcept;

/// The real dlsym, as if called from here: not for the pseudo-handles.
void* look_up(void* handle, const char* name) noexcept;

/// Whether the process has libcuda.so.1 loaded. The first positive answer fills the real and the export table;
/// later ones are one load. Never loads it: that is the program's to do. Thread-safe.
bool find_driver() noexcept;

/// The wrapper or counting pass-through of the exported symbol at exactly this address in the driver; null when
/// the address is no exported symbol that we know. Thread-safe after find_driver().
void* substitute(void* driver_address) noexcept;

/// The object that holds `code` was loaded by umadvisor: its look-ups are answered as the driver's own are, and
/// its calls are no calls of the program. One object a process.
void leave_alone(const void* code) noexcept;
/// Whether `code` lies in that object or in the driver itself, whose look-ups are never answered with wrappers
/// (WSL's libcuda.so.1 looks up "cuInit" by dlsym and would recurse).
bool is_left_alone(const void* code) noexcept;

/// File of the driver, or "".
const char* driver_path() noexcept;

/// simcuda's virtual clock, or null when this is a real driver.
std::uint64_t (*simulated_clock() noexcept)();

/// simcuda's stand-ins for /dev/nvidia-uvm-tools and for the parameters of the driver's unified-memory module
/// (tools/simcuda/control.hpp), or null when this is a real driver.
using ToolsCommand = int (*)(int tracker, unsigned long command, void* parameters);
ToolsCommand simulated_tools() noexcept;
using ParameterLookup = int (*)(const char* name, unsigned* value);
ParameterLookup simulated_parameter() noexcept;

} // namespace umadvisor::attach
