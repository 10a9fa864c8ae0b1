/// What is known of the memory of the machine that a trace was recorded on.
#pragma once

#include "analyzer/rules/profile.hpp"

namespace umadvisor::rules {

/// Whether what moving memory costs is known: PCIe lies between host and each device, or the prices are those
/// of this device, measured.
bool knows_prices(const Profile& profile);

/// Whether kernels of each device share one memory with the host.
bool is_one_pool(const Profile& profile);

} // namespace umadvisor::rules
