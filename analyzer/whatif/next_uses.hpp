/// The future of a job: when each extent is reached next.
#pragma once

#include "analyzer/whatif/job.hpp"

namespace umadvisor::whatif {

inline constexpr std::uint32_t never = UINT32_MAX;

/// For each extent of each launch, in order: the number of the next launch step that reaches it. Copies and the
/// host do not count. Memory: 4 bytes an access, and 4 an extent.
std::vector<std::uint32_t> next_uses(const Job& job);

} // namespace umadvisor::whatif
