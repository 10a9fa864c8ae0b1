/// What edits of a run save.
#pragma once

#include "analyzer/rules/profile.hpp"
#include "analyzer/timeline/edit.hpp"
#include "analyzer/timeline/spared.hpp"

#include <cstddef>
#include <vector>

namespace umadvisor::advice {

struct Replayed {
    std::vector<timeline::Gain> gains; ///< of each edit alone; empty: the trace can no longer be read
    timeline::Spared spared;           ///< of the edit that was watched
};
/// Replays the trace once.
Replayed replay(const rules::Profile& profile, const std::vector<timeline::Edit>& edits, std::size_t watched);

} // namespace umadvisor::advice
