/// How stacks are looked up and shown.
#pragma once

#include <string>
#include <vector>

namespace umadvisor::symbols {

struct Options {
    std::vector<std::string> hide, show; ///< globs for Ownership
    bool full_stacks = false;            ///< reports show whole stacks, not only the line
};

} // namespace umadvisor::symbols
