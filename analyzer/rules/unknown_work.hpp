/// What of the program's work a trace does not tell.
#pragma once

#include "analyzer/rules/profile.hpp"

namespace umadvisor::rules {

/// Records were lost, or work was queued by calls of which the trace tells their number only.
bool work_is_unknown(const Profile& profile);

/// That, or kernels may have reached memory by other ways than their parameters: textures, surfaces, tensor
/// maps.
bool memory_use_is_unknown(const Profile& profile);

} // namespace umadvisor::rules
