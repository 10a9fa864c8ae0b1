/// Managed memory that moves because its neighbour is wanted.
#pragma once

#include "analyzer/rules/unified/managed.hpp"

#include <vector>

namespace umadvisor::rules {

struct OnMemory {
    const ManagedMemory* memory;
    Finding finding;
};

/// The findings. One on small memory that shares a granule with other lines' memory names these. Of the
/// findings on two neighbours at the same line one is left: what moves is the granule, once. The same holds for
/// findings on launches that are slowed down.
std::vector<Finding> with_neighbours(std::vector<OnMemory> found, const LineOf& line_of);

} // namespace umadvisor::rules
