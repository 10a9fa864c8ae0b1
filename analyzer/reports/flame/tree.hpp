/// Stacks as a tree of text.
#pragma once

#include "analyzer/reports/weighed_stacks.hpp"

#include <cstddef>
#include <iosfwd>

namespace umadvisor::reports {

struct TreeStyle {
    double least_percent = 1; ///< branches that weigh less are left out, and counted
    std::size_t width = 0;    ///< columns; longer names are cut. 0: any
};

void write_tree(const WeighedStacks& stacks, const TreeStyle& style, std::ostream& out);

} // namespace umadvisor::reports
