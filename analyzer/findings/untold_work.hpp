/// Whether the trace may lack what a rule would have to know.
#pragma once

#include "analyzer/model/profile.hpp"

namespace umadvisor::findings {

/// Calls that queue work were dropped, or the trace tells their number only.
bool work_is_untold(const model::Profile& profile);

} // namespace umadvisor::findings
