#include "analyzer/cli/working_folder.hpp"

#include "analyzer/reader/error.hpp"

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>

namespace umadvisor::cli {

WorkingFolder::WorkingFolder(const std::string& purpose) {
    std::error_code failed;
    const std::filesystem::path parent = std::filesystem::temp_directory_path(failed);
    if (failed)
        throw reader::Error("no folder for temporary files: " + failed.message() + "; TMPDIR says where");
    path_ = (parent / ("umadvisor-" + purpose + "-XXXXXX")).string();
    if (::mkdtemp(path_.data()) == nullptr)
        throw reader::Error(parent.string() + ": " + std::strerror(errno) + "; TMPDIR names another folder");
}

WorkingFolder::~WorkingFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
}

} // namespace umadvisor::cli
