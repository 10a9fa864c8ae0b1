#include "analyzer/files/new_file.hpp"

#include <cerrno>
#include <cstdio>
#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>
#include <utility>

namespace umadvisor::files {
namespace {

std::string link_of(int file) {
    return "/proc/self/fd/" + std::to_string(file); // open(2), O_TMPFILE: how such a file gets a name
}

} // namespace

NewFile::NewFile(std::string path, mode_t mode) : path_(std::move(path)) {
    folder_ = path_.substr(0, path_.rfind('/') + 1);
    remove_left(folder_, Left::file);
    file_ = ::open(folder_.empty() ? "." : folder_.c_str(), O_TMPFILE | O_WRONLY | O_CLOEXEC, mode);
    if (file_ >= 0 && ::access(link_of(file_).c_str(), F_OK) != 0) // without /proc it could get no name
        ::close(std::exchange(file_, -1));
    if (file_ < 0 && !make_named(mode))
        error_ = errno;
}

NewFile::~NewFile() {
    if (file_ >= 0)
        ::close(file_);
}

bool NewFile::make_named(mode_t mode) {
    named_.emplace(folder_);
    file_ = ::open(named_->path().c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, mode);
    if (file_ < 0)
        return false;
    ::flock(file_, LOCK_EX | LOCK_NB); // remove_left() leaves it alone then
    return true;
}

bool NewFile::link_to(const std::string& name) const {
    return ::linkat(AT_FDCWD, link_of(file_).c_str(), AT_FDCWD, name.c_str(), AT_SYMLINK_FOLLOW) == 0;
}

const std::string& NewFile::temporary() {
    static const std::string none;
    if (!named_) {
        named_.emplace(folder_);
        ::flock(file_, LOCK_EX | LOCK_NB);
        if (!link_to(named_->path()))
            return none;
    }
    return named_->path();
}

int NewFile::take_name(bool replace) {
    if (!named_) {
        if (link_to(path_))
            return 0;
        if (errno != EEXIST || !replace || temporary().empty())
            return errno;
    }
    const char* const temporary = named_->path().c_str();
    if (replace)
        return ::rename(temporary, path_.c_str()) == 0 ? 0 : errno;
    // RENAME_NOREPLACE and link() do not replace what has come meanwhile. Some file systems know the one, some
    // the other.
    if (::renameat2(AT_FDCWD, temporary, AT_FDCWD, path_.c_str(), RENAME_NOREPLACE) == 0 ||
        (errno != EEXIST && ::link(temporary, path_.c_str()) == 0))
        return 0;
    return errno;
}

int NewFile::commit(bool replace) {
    // A file system may find out only now that it cannot keep what was written (close(2)). One that does (NFS)
    // has no files without a name, and those have to be open to get one.
    if (named_ && ::close(std::exchange(file_, -1)) != 0)
        return errno;
    const int failed = take_name(replace);
    named_.reset();
    return failed;
}

} // namespace umadvisor::files
