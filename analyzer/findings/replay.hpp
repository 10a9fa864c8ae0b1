/// What edits of a run save.
#pragma once

#include "analyzer/model/profile.hpp"
#include "analyzer/timeline/edit.hpp"

#include <vector>

namespace umadvisor::findings {

/// Replays the trace once and returns what each edit alone gains; nothing when the trace can no longer be read.
std::vector<timeline::Gain> replay(const model::Profile& profile, const std::vector<timeline::Edit>& edits);

} // namespace umadvisor::findings
