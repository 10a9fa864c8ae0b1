/// Which of the program's work is missing from a trace.
#pragma once

#include "analyzer/rules/profile.hpp"

namespace umadvisor::rules {

/// Records were lost, or work was queued by calls that the trace only counts.
bool work_is_unknown(const Profile& profile);

/// That, or kernels may have reached memory by other ways than their parameters: textures, surfaces, tensor
/// maps.
bool memory_use_is_unknown(const Profile& profile);

} // namespace umadvisor::rules
