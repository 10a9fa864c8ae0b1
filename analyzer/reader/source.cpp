#include "analyzer/reader/source.hpp"

#include "analyzer/reader/error.hpp"
#include "analyzer/reader/plain.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>
#include <utility>

namespace umadvisor::reader {

Source::Source(const std::string& path) : path_(plain(path, trace::Plain::name)), opened_(path) {
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
    unwritten_ = take_unwritten(file_);
    if (::fstat(file_, &status) == 0) // after the look at the memory: it may have grown
        size_ = static_cast<std::uint64_t>(status.st_size);
    if (!unwritten_.pieces.empty())
        size_ = std::max(size_, unwritten_.pieces.back().offset + unwritten_.pieces.back().bytes.size());
}

Source::Source(Source&& other) noexcept
    : path_(std::move(other.path_)),
      opened_(std::move(other.opened_)),
      file_(std::exchange(other.file_, -1)),
      size_(other.size_),
      unwritten_(std::move(other.unwritten_)) {}

Source::~Source() {
    if (file_ >= 0)
        ::close(file_);
}

std::size_t Source::read(std::uint64_t offset, void* out, std::size_t bytes) const {
    const std::size_t written = read_file(offset, out, bytes);
    const auto& pieces = unwritten_.pieces;
    if (pieces.empty() || offset >= size_)
        return written;
    const auto there = static_cast<std::size_t>(std::min<std::uint64_t>(bytes, size_ - offset));
    auto* const to = static_cast<std::uint8_t*>(out);
    if (written < there) // a hole before what is still to be written
        std::memset(to + written, 0, there - written);
    auto piece = std::partition_point(pieces.begin(), pieces.end(), [&](const Piece& each) {
        return each.offset + each.bytes.size() <= offset;
    });
    for (; piece != pieces.end() && piece->offset < offset + there; ++piece) {
        const std::uint64_t from = std::max(offset, piece->offset);
        const std::uint64_t to_end = std::min(offset + there, piece->offset + piece->bytes.size());
        std::memcpy(to + (from - offset), piece->bytes.data() + (from - piece->offset), to_end - from);
    }
    return there;
}

std::size_t Source::read_file(std::uint64_t offset, void* out, std::size_t bytes) const {
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
