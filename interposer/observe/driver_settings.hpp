/// What the driver's unified-memory module is set to.
#pragma once

#include "trace/records.hpp"

namespace umadvisor::observe {

/// The release of the kernel modules ("580.159.04"), empty where it is not told. Texts of static storage
/// duration; call once.
std::string_view driver_release() noexcept;

/// The release's branch (580), 0 where it is not known.
unsigned driver_branch(std::string_view release) noexcept;

/// Fills in the parameters of `record` from /sys/module/nvidia_uvm/parameters
/// (Documentation/filesystems/sysfs.rst); leaves them unknown where one of them is not there.
void read_parameters(trace::ManagedSource& record) noexcept;

} // namespace umadvisor::observe
