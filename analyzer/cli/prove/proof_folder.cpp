#include "analyzer/cli/prove/proof_folder.hpp"

#include "analyzer/reader/error.hpp"
#include "analyzer/text/figures.hpp"

namespace umadvisor::cli {
namespace {

namespace fs = std::filesystem;

void make_kept(const std::string& folder) {
    std::error_code failed;
    if (fs::exists(folder, failed) && !fs::is_empty(folder, failed))
        throw reader::Error(fmt::format("--keep {}: is there and not empty; name a new folder", folder));
    fs::create_directories(folder, failed);
    if (failed)
        throw reader::Error(fmt::format("--keep {}: {}", folder, failed.message()));
}

} // namespace

ProofFolder::ProofFolder(const std::string& kept, const SourceTree& tree) {
    std::error_code failed;
    const fs::path parent = fs::absolute(kept.empty() ? fs::temp_directory_path(failed) : fs::path(kept));
    if (tree.holds(parent))
        throw reader::Error(fmt::format("{} is in the tree that is copied, {}; {} names a folder outside of it",
                                        parent.string(), tree.root().string(),
                                        kept.empty() ? "TMPDIR" : "--keep"));
    if (kept.empty())
        temporary_.emplace("prove");
    else
        make_kept(kept);
    path_ = fs::canonical(temporary_ ? fs::path(*temporary_ / ".") : parent);
    const fs::space_info space = fs::space(path_, failed);
    if (!failed && space.available < 2 * tree.bytes())
        throw reader::Error(fmt::format("{} has {} free, and two copies of {} take {}; {} names another folder",
                                        path_.string(), text::bytes_text(space.available), tree.root().string(),
                                        text::bytes_text(2 * tree.bytes()),
                                        kept.empty() ? "TMPDIR" : "--keep"));
}

} // namespace umadvisor::cli
