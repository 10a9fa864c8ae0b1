/// The folder that paths of diffs are relative to.
#pragma once

#include "analyzer/cli/command.hpp"

#include <string>

namespace umadvisor::cli {

/// Returns the folder of --source-root, or the root of the git working tree that the working directory is in,
/// or that directory; without links in it. Throws reader::Error where there is no such folder.
std::string source_root(const Arguments& arguments);

} // namespace umadvisor::cli
