/// Where a proof has its copies and traces.
#pragma once

#include "analyzer/cli/prove/source_tree.hpp"
#include "analyzer/cli/run/working_folder.hpp"

#include <filesystem>
#include <optional>
#include <string>

namespace umadvisor::cli {

class ProofFolder {
public:
    /// `kept` is a folder that stays, new or empty; empty: one in the folder for temporary files, which goes
    /// with this. Throws reader::Error where there can be none outside of the tree, or no two copies of it fit
    /// in.
    ProofFolder(const std::string& kept, const SourceTree& tree);

    /// Absolute, without links.
    std::filesystem::path operator/(const std::string& name) const { return path_ / name; }

private:
    std::optional<WorkingFolder> temporary_;
    std::filesystem::path path_;
};

} // namespace umadvisor::cli
