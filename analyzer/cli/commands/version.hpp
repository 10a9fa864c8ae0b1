/// Which umadvisor this is.
#pragma once

#include <string>

namespace umadvisor::cli {

/// Version, commit, and what it was built with.
std::string version_text();

} // namespace umadvisor::cli
