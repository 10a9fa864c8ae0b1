/// The Pythons that tests run.
#pragma once

#include <cstdlib>
#include <sstream>
#include <string>
#include <vector>

namespace umadvisor::test {

/// Debian's, or those that UMADVISOR_TEST_PYTHONS names: paths with colons between them.
inline std::vector<std::string> python_interpreters() {
    const char* const named = std::getenv("UMADVISOR_TEST_PYTHONS");
    std::istringstream list(named != nullptr && *named != '\0' ? named : "/usr/bin/python3");
    std::vector<std::string> found;
    for (std::string each; std::getline(list, each, ':');)
        found.push_back(each);
    return found;
}

} // namespace umadvisor::test
