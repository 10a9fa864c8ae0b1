/// What edits of a run save.
#pragma once

#include "analyzer/model/profile.hpp"
#include "analyzer/timeline/edit.hpp"

#include <vector>

namespace umadvisor::findings {

/// What each edit alone brings, by a further pass over the trace. Empty: the trace can no longer be read.
std::vector<timeline::Gain> replay(const model::Profile& profile, const std::vector<timeline::Edit>& edits);

} // namespace umadvisor::findings
