#include "analyzer/reader/source.hpp"

#include "analyzer/reader/error.hpp"
#include "analyzer/reader/plain.hpp"

#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>
#include <utility>

namespace umadvisor::reader {

Source::Source(const std::string& path) : path_(plain(path, trace::Plain::name)) {
    // O_NONBLOCK: opening a FIFO must not wait for a writer; regular files ignore it (open(2)).
    file_ = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (file_ < 0)
        throw Error(path_ + ": " + std::strerror(errno));
    struct stat status {};
    const bool known = ::fstat(file_, &status) == 0;
    if (!known || !S_ISREG(status.st_mode)) {
        ::close(file_);
        throw Error(path_ + (known && S_ISDIR(status.st_mode)
                                 ? ": is a directory; name the .umtrace files in it"
                                 : ": is not a regular file"));
    }
    size_ = static_cast<std::uint64_t>(status.st_size);
}

Source::Source(Source&& other) noexcept
    : path_(std::move(other.path_)), file_(std::exchange(other.file_, -1)), size_(other.size_) {}

Source::~Source() {
    if (file_ >= 0)
        ::close(file_);
}

std::size_t Source::read(std::uint64_t offset, void* out, std::size_t bytes) const {
    std::size_t done = 0;
    while (done < bytes) {
        const ssize_t got =
            ::pread(file_, static_cast<char*>(out) + done, bytes - done, static_cast<off_t>(offset + done));
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            throw Error(path_ + ": " + std::strerror(errno));
        if (got == 0)
            break;
        done += static_cast<std::size_t>(got);
    }
    return done;
}

} // namespace umadvisor::reader
