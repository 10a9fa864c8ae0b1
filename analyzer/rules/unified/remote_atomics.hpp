/// Little memory that the driver keeps on the host for kernels that count in it.
#pragma once

#include "analyzer/rules/unified/managed.hpp"
#include "analyzer/tables/launches.hpp"

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <vector>

namespace umadvisor::rules {

struct PlacedTimes {
    std::uint64_t count = 0;
    std::vector<std::uint64_t> samples; ///< of those whose device time is measured; at most a few
};

/// How long launches take while a small managed allocation that they reach is on the device, and while it stays
/// on the host for them.
struct PlacedGroup {
    ids::StackId stack{};  ///< of a launch
    PlacedTimes near, far; ///< with the memory on the device, and on the host
};
using PlacedGroups = std::map<tables::LaunchGroup, PlacedGroup>;

/// Of each allocating line; its stack stands for all with that line.
using PlacedByLine = std::map<ids::AllocationSite, std::vector<const PlacedGroups*>>;
PlacedByLine placed_by_line(const Profile& profile, const LineOf& line_of);

struct RemoteAtomics {
    Finding finding;
    std::set<std::uint64_t> kernels; ///< that it slows down
};

/// Nothing where the driver reported neither a mapping across the link nor atomics, or where no launch is seen
/// to take longer with the memory on the host.
std::optional<RemoteAtomics> remote_atomics(const ManagedMemory& memory, const PlacedByLine& placed,
                                            const LineOf& line_of);

} // namespace umadvisor::rules
