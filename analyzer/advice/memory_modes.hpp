/// Which rules hold where host and device share memory in another way than across PCIe.
#pragma once

#include "analyzer/rules/finding.hpp"

#include <vector>

namespace umadvisor::advice {

/// Drops findings of rules that do not hold on one of the trace's devices. Takes out, and returns, those that
/// have no saving: what the link carries was not measured, or the trace does not hold enough.
std::vector<rules::Finding> keep_to_machine(const rules::Profile& profile, std::vector<rules::Finding>& all);

} // namespace umadvisor::advice
