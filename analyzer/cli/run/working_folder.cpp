#include "analyzer/cli/run/working_folder.hpp"

#include "analyzer/reader/error.hpp"

#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <filesystem>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

namespace umadvisor::cli {

WorkingFolder::WorkingFolder(const std::string& purpose) {
    std::error_code failed;
    const std::filesystem::path temporary = std::filesystem::temp_directory_path(failed);
    if (failed)
        throw reader::Error("no folder for temporary files: " + failed.message() + "; TMPDIR says where");
    // Programs may be started in other folders.
    const std::filesystem::path parent = std::filesystem::absolute(temporary);
    files::remove_left(parent.string(), files::Left::folder);
    folder_.emplace(parent.string(), purpose);
    if (::mkdir(folder_->path().c_str(), 0700) != 0)
        throw reader::Error(parent.string() + ": " + std::strerror(errno) + "; TMPDIR names another folder");
    lock_ = ::open(folder_->path().c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    ::flock(lock_, LOCK_EX | LOCK_NB);
}

WorkingFolder::~WorkingFolder() {
    if (lock_ >= 0)
        ::close(lock_);
}

} // namespace umadvisor::cli
