/// Findings as a unified diff against the user's own sources.
#pragma once

#include "analyzer/advice/report.hpp"

#include <optional>
#include <string>
#include <vector>

namespace umadvisor::patch {

struct Options {
    std::string source_root;           ///< absolute; files outside are not patched
    std::optional<std::size_t> number; ///< only the report's finding of this number, from 1
};

/// A finding with its edit.
struct Patched {
    const rules::Finding* finding = nullptr;
    std::string diff; ///< of this finding alone: what it names and assumes, and the section of its file
};

/// A finding without an edit, and why.
struct Unpatched {
    const rules::Finding* finding = nullptr;
    std::string line; ///< "main.cu:12 in main()"
    std::string why;
};

struct Patches {
    std::string diff; ///< sections of files, after text that `patch` and `git apply` pass over; empty: none
    std::vector<Patched> made;
    std::vector<Unpatched> unpatched;
};

/// Returns whether umadvisor was built with what parses sources; without it, make_patches() throws
/// reader::Error.
bool available();

/// Changes no file. Of findings that edit the same lines, the one that comes first in the report is patched.
/// A finding is patched if its edit keeps the order of the run's work, if all its lines are in one source that
/// was not changed after the run, if the edited source parses as well as before, and if at most 12 lines
/// differ.
Patches make_patches(advice::Report& report, const Options& options);

} // namespace umadvisor::patch
