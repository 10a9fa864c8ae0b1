/// The settings of the driver's unified-memory module.
#pragma once

#include "interposer/base/small_file.hpp"
#include "trace/records.hpp"

namespace umadvisor::observe {

using ReleaseText = base::SmallFile<64>;
/// The release of the kernel modules ("580.159.04"), empty if it is not known. The text is in `release`.
std::string_view driver_release(ReleaseText& release) noexcept;

/// The value of CoherentGPUMemoryMode in `text`, the content of /proc/driver/nvidia/params; empty where it has
/// none.
std::string_view coherent_memory_mode_in(std::string_view text) noexcept;
/// The same for this machine. Text of static storage duration; called once.
std::string_view coherent_memory_mode() noexcept;
/// The module's parameter uvm_disable_hmm, plus 1; 0 if it is not known.
std::uint64_t hmm_disabled() noexcept;

/// Fills in the parameters of `record` from /sys/module/nvidia_uvm/parameters
/// (Documentation/filesystems/sysfs.rst); leaves them unknown where one of them is not there.
void read_parameters(trace::ManagedSource& record) noexcept;

} // namespace umadvisor::observe
