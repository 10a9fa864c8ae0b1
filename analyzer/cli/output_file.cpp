#include "analyzer/cli/output_file.hpp"

#include "analyzer/reader/error.hpp"

#include <cerrno>
#include <csignal>
#include <cstring>
#include <sys/stat.h>
#include <unistd.h>

namespace umadvisor::cli {
namespace {

const std::string& checked(const std::string& path, bool force) {
    check_output_name(path, force);
    return path;
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
            throw reader::Error(fmt::format("{}: {}; name another output", path, std::strerror(errno)));
        return;
    }
    if (!S_ISREG(status.st_mode))
        throw reader::Error(path + ": exists and is not a regular file; name another output");
    if (!force)
        throw reader::Error(path + ": exists already; -f replaces it");
    if (status.st_uid != ::geteuid())
        throw reader::Error(path + ": belongs to another user; name another output");
}

OutputFile::OutputFile(std::string path, bool force, mode_t mode)
    : path_(std::move(path)), force_(force), file_(checked(path_, force), mode) {
    if (file_.error() != 0)
        throw reader::Error(fmt::format("{}: {}; name another output", path_, std::strerror(file_.error())));
    // write() also reports that a limit on file size was reached, if SIGXFSZ does not end the process first.
    ::signal(SIGXFSZ, SIG_IGN);
}

void OutputFile::fail(int error) const {
    throw reader::Error(fmt::format("{}: {}; nothing was written", path_, std::strerror(error)));
}

void OutputFile::write(std::string_view bytes) {
    while (!bytes.empty()) {
        const ssize_t written = ::write(file_.descriptor(), bytes.data(), bytes.size());
        if (written < 0 && errno == EINTR)
            continue;
        if (written <= 0)
            fail(written < 0 ? errno : ENOSPC);
        bytes.remove_prefix(static_cast<std::size_t>(written));
    }
}

const std::string& OutputFile::temporary() {
    const std::string& name = file_.temporary();
    if (name.empty())
        fail(errno);
    return name;
}

void OutputFile::commit() {
    check_output_name(path_, force_);
    if (const int failed = file_.commit(force_); failed != 0)
        fail(failed);
}

void write_output_file(const std::string& path, bool force, std::string_view bytes, mode_t mode) {
    OutputFile file(path, force, mode);
    file.write(bytes);
    file.commit();
}

} // namespace umadvisor::cli
