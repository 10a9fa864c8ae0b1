#include "analyzer/cli/output_file.hpp"

#include "analyzer/reader/error.hpp"

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <fcntl.h>
#include <random>
#include <sys/stat.h>
#include <unistd.h>

namespace umadvisor::cli {
namespace {

/// Beside `path`, so that rename() does not have to copy.
std::string temporary_name(const std::string& path) {
    std::random_device random;
    char name[32];
    std::snprintf(name, sizeof name, ".umadvisor-%08x%08x", random(), random());
    return path.substr(0, path.rfind('/') + 1) + name;
}

} // namespace

void check_output_name(const std::string& path, bool force) {
    struct stat status {};
    if (path.empty() || path.ends_with('/'))
        throw reader::Error((path.empty() ? "an empty name" : path) + ": names no file; name another output");
    if (::lstat(path.c_str(), &status) != 0) {
        const std::size_t slash = path.rfind('/');
        const std::string folder = slash == std::string::npos ? "." : path.substr(0, slash + 1);
        if (errno != ENOENT || ::access(folder.c_str(), W_OK | X_OK) != 0)
            throw reader::Error(path + ": " + std::strerror(errno) + "; name another output");
        return;
    }
    if (!S_ISREG(status.st_mode))
        throw reader::Error(path + ": exists and is not a regular file; name another output");
    if (!force)
        throw reader::Error(path + ": exists already; -f replaces it");
    if (status.st_uid != ::geteuid())
        throw reader::Error(path + ": belongs to another user; name another output");
}

OutputFile::OutputFile(std::string path, bool force, mode_t mode) : path_(std::move(path)), force_(force) {
    check_output_name(path_, force_);
    // write() tells of a limit on the size of files, too, if the signal does not end the process first.
    ::signal(SIGXFSZ, SIG_IGN);
    temporary_ = temporary_name(path_);
    file_ = ::open(temporary_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, mode);
    if (file_ < 0)
        throw reader::Error(path_ + ": " + std::strerror(errno) + "; name another output");
}

OutputFile::~OutputFile() {
    if (file_ >= 0)
        ::close(file_);
    if (!temporary_.empty())
        ::unlink(temporary_.c_str());
}

void OutputFile::fail(int error) const {
    throw reader::Error(path_ + ": " + std::strerror(error) + "; nothing was written");
}

void OutputFile::write(std::string_view bytes) {
    while (!bytes.empty()) {
        const ssize_t written = ::write(file_, bytes.data(), bytes.size());
        if (written < 0 && errno == EINTR)
            continue;
        if (written <= 0)
            fail(written < 0 ? errno : ENOSPC);
        bytes.remove_prefix(static_cast<std::size_t>(written));
    }
}

void OutputFile::commit() {
    const int closed = ::close(file_);
    file_ = -1;
    if (closed != 0)
        fail(errno);
    check_output_name(path_, force_);
    if (force_) {
        if (::rename(temporary_.c_str(), path_.c_str()) != 0)
            fail(errno);
        temporary_.clear();
        return;
    }
    // RENAME_NOREPLACE and link() do not replace what has come meanwhile. Some file systems know the one, some
    // the other.
    if (::renameat2(AT_FDCWD, temporary_.c_str(), AT_FDCWD, path_.c_str(), RENAME_NOREPLACE) == 0) {
        temporary_.clear();
        return;
    }
    if (errno == EEXIST || ::link(temporary_.c_str(), path_.c_str()) != 0)
        fail(errno);
}

void write_output_file(const std::string& path, bool force, std::string_view bytes, mode_t mode) {
    OutputFile file(path, force, mode);
    file.write(bytes);
    file.commit();
}

} // namespace umadvisor::cli
