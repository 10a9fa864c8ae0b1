/// Which rules hold where host and device share memory in another way than across PCIe.
#pragma once

#include "analyzer/findings/finding.hpp"

#include <vector>

namespace umadvisor::findings {

/// Whether what moving memory costs is known: PCIe lies between host and each device, or the prices are those
/// of this device, measured.
bool knows_prices(const model::Profile& profile);

/// Whether kernels of each device share one memory with the host.
bool is_one_pool(const model::Profile& profile);

/// Drops findings of rules that do not hold on one of the trace's devices. Takes out, and returns, those that
/// no saving can be told of: nobody has measured the link, or the trace does not tell enough.
std::vector<Finding> keep_to_machine(const model::Profile& profile, std::vector<Finding>& all);

} // namespace umadvisor::findings
