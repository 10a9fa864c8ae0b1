/// One of the two copies of a tree that a proof builds and runs.
#pragma once

#include "analyzer/cli/prove/source_tree.hpp"

#include <filesystem>
#include <string>

namespace umadvisor::cli {

struct TreeCopy {
    const SourceTree& original;
    std::string name;             ///< in messages: "old", "new"
    std::filesystem::path root;   ///< beside it stand files on this copy, under its name with a suffix
    std::filesystem::path folder; ///< the one that corresponds to the working directory

    std::string beside(const char* suffix) const { return root.string() + suffix; }
};

/// Has `sh` run `command` in the copy's folder, nothing where it is empty. What it writes goes to a log beside
/// the copy. Throws reader::Error where it fails, after the last lines of that on stderr, and where CMake
/// configured a folder of the copy for the sources of the original tree.
void build(const TreeCopy& copy, const std::string& command);

/// Returns the file of the copy's program, a name as execvp(3) takes it. Throws reader::Error where there is
/// none that can be recorded, or it is the original tree's.
std::string program_of(const TreeCopy& copy, const std::string& name);

} // namespace umadvisor::cli
