/// Refuses recorded runs that loaded libraries or Python code from the original tree in place of the copy.
#pragma once

#include "analyzer/advice/report.hpp"
#include "analyzer/cli/prove/diff_file.hpp"
#include "analyzer/cli/prove/tree_copy.hpp"

namespace umadvisor::cli {

/// Throws reader::Error where the run loaded a library or Python code of the original tree, or where a file
/// that the diff changes was compiled in the original tree.
void refuse_foreign_code(advice::Report& report, const TreeCopy& copy, const DiffFile& diff);

} // namespace umadvisor::cli
