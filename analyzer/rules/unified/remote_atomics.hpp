/// Little memory that the driver keeps on the host for kernels that count in it.
#pragma once

#include "analyzer/rules/unified/managed.hpp"

#include <cstdint>
#include <optional>
#include <set>

namespace umadvisor::rules {

/// Of each allocating line; its stack stands for all with that line.
using PlacedByLine = std::map<ids::AllocationSite, std::vector<const PlacedLaunches::Groups*>>;
PlacedByLine placed_by_line(const Profile& profile, const LineOf& line_of);

struct RemoteAtomics {
    Finding finding;
    std::set<std::uint64_t> kernels; ///< that it slows down
};

/// Nothing where the driver told neither of a mapping across the link nor of atomics, or where no launch is
/// seen to take longer with the memory on the host.
std::optional<RemoteAtomics> remote_atomics(const ManagedMemory& memory, const PlacedByLine& placed,
                                            const LineOf& line_of);

} // namespace umadvisor::rules
