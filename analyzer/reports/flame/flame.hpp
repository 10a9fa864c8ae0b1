/// Flame graphs, for the programs that draw them.
#pragma once

#include "analyzer/reports/weighed_stacks.hpp"

#include <iosfwd>
#include <nlohmann/json_fwd.hpp>

namespace umadvisor::reports {

/// A line for each stack, "main;upload;cudaMemcpy 1234", sorted: what flamegraph.pl and its kin read.
void write_collapsed(const WeighedStacks& stacks, std::ostream& out);

/// A file for https://www.speedscope.app, by its schema.
nlohmann::ordered_json to_speedscope(const WeighedStacks& stacks);

} // namespace umadvisor::reports
