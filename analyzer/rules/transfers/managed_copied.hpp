/// Which copies the rule managed-copied speaks of, so that others need not.
#pragma once

#include "analyzer/rules/profile.hpp"

namespace umadvisor::rules {

/// Between managed memory and memory that the host can reach. Not for copies of graphs: their time is unknown.
bool copies_managed(const tables::CopySite& site);

/// umadvisor turned device memory into managed memory.
bool made_managed(const Profile& profile);

} // namespace umadvisor::rules
