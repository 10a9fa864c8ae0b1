/// Managed memory that moves because its neighbour is wanted.
#pragma once

#include "analyzer/rules/unified/managed.hpp"

#include <vector>

namespace umadvisor::rules {

struct OnMemory {
    const ManagedMemory* memory;
    Finding finding;
};

/// The findings, those on little memory that shares a granule with other lines' told with these by name. Of two
/// neighbours' that begin at the same line one is left: what moves is the granule, once. So of launches that
/// are slowed down.
std::vector<Finding> with_neighbours(std::vector<OnMemory> found, const LineOf& line_of);

} // namespace umadvisor::rules
