/// Which managed memory the host reads too early.
#pragma once

#include "analyzer/rules/rule.hpp"

#include <cstdint>
#include <set>

namespace umadvisor::rules {

/// Lines that allocate memory which the host reads while kernels may still write it. Advice on where that
/// memory should be would make the fault permanent.
std::set<ids::StackId> lines_that_race(const Profile& profile, const LineOf& line_of);

} // namespace umadvisor::rules
