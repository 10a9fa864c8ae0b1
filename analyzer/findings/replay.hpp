/// What edits of a run save.
#pragma once

#include "analyzer/model/profile.hpp"
#include "analyzer/timeline/edit.hpp"

#include <vector>

namespace umadvisor::findings {

/// How much earlier the run ends with each edit alone, nanoseconds, by a further pass over the trace; negative:
/// later. Empty: the trace can no longer be read.
std::vector<double> replay(const model::Profile& profile, const std::vector<timeline::Edit>& edits);

} // namespace umadvisor::findings
