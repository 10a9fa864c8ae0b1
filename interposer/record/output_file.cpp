#include "interposer/record/output_file.hpp"

#include "interposer/record/high_descriptor.hpp"
#include "trace/attached_segment.hpp"
#include "trace/layout.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <fcntl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace umadvisor::record {

namespace {

constexpr int writes_at_a_time = 16; ///< short ones, some 0.1 ms together, between two looks at the descriptor
constexpr std::size_t short_write = 4'096; ///< bytes; before a longer one the descriptor is looked at

/// pwrite(2). Other threads may change words of `data` atomically meanwhile; the kernel reads each as it was
/// before or after. It is a bare system call, since the thread sanitizer would report a race for pwrite().
ssize_t pwrite_shared(int fd, const void* data, std::size_t bytes, off_t offset) noexcept {
    return syscall(SYS_pwrite64, fd, data, bytes, offset);
}

constinit char failure[512] = {}; ///< create() is called by the one thread that enters

const char* failed(const char* path, const char* what) noexcept {
    std::snprintf(failure, sizeof failure, "cannot create %s: %s", path, what);
    return failure;
}

/// Removes the segment of a trace whose program was killed before the trace was read. Only that file names the
/// segment, which would stay in memory for good.
void remove_segment(const char* path) noexcept {
    const int fd = ::open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    struct stat file {};
    if (fd < 0)
        return;
    if (const trace::SegmentName name = trace::segment_name_in(fd); name.bytes != 0 && fstat(fd, &file) == 0)
        if (const trace::AttachedSegment segment(name, file); segment && segment.writer_is_gone())
            segment.remove();
    ::close(fd);
}

/// A trace, by its first bytes, or a file without any: all else that a user has there stays, even by force.
bool is_trace_or_empty(const char* path) noexcept {
    const int fd = ::open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    if (fd < 0)
        return false;
    std::array<char, trace::file_magic.size()> begin{};
    const ssize_t bytes = ::pread(fd, begin.data(), begin.size(), 0);
    ::close(fd);
    return bytes == 0 || (bytes > 0 && std::memcmp(begin.data(), trace::file_magic.data(), begin.size()) == 0);
}

/// Removes a file that `force` allows us to remove. Returns nullptr or why not.
const char* make_way(const char* path) noexcept {
    struct stat file {};
    if (lstat(path, &file) != 0)
        return nullptr;
    if (S_ISLNK(file.st_mode))
        return failed(path, "it is a symbolic link, and links are not followed");
    if (!S_ISREG(file.st_mode))
        return failed(path, "it exists and is no regular file");
    if (file.st_uid != geteuid())
        return failed(path, "it exists and belongs to another user");
    if (!is_trace_or_empty(path))
        return failed(path, "it exists and is no trace");
    remove_segment(path);
    return unlink(path) == 0 ? nullptr : failed(path, describe(errno));
}

} // namespace

const char* describe(int error) noexcept {
    const char* text = strerrordesc_np(error);
    return text != nullptr ? text : "unknown error";
}

const char* OutputFile::create(const char* path, bool force) noexcept {
    if (force)
        if (const char* why = make_way(path))
            return why;
    bytes_ = 0;
    const int fd = ::open(path, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (fd < 0)
        return failed(path, errno == EEXIST ? "it exists already" : describe(errno));
    fd_ = raise_descriptor(fd);
    struct stat file {};
    if (fstat(fd_, &file) != 0)
        return fail(path, describe(errno));
    device_ = file.st_dev;
    inode_ = file.st_ino;
    own_descriptor(file);
    char link[64];
    std::snprintf(link, sizeof link, "/proc/self/fd/%d", fd_);
    const ssize_t length = readlink(link, path_, sizeof path_ - 1);
    path_[length > 0 ? length : 0] = '\0';
    if (stat("/", &file) == 0) {
        root_device_ = file.st_dev;
        root_inode_ = file.st_ino;
    }
    return nullptr;
}

const char* OutputFile::fail(const char* path, const char* why) noexcept {
    unlink(path);
    ::close(fd_);
    fd_ = -1;
    return failed(path, why);
}

void OutputFile::close() noexcept {
    struct stat file {};
    if (own_descriptor(file)) // else the number may be another file's
        ::close(fd_);
    fd_ = -1;
}

int OutputFile::duplicate() const noexcept {
    return fcntl(fd_, F_DUPFD_CLOEXEC, 0);
}

/// Whether fd_ is still our file: programs close descriptors that are not theirs (daemon(3), closefrom(3)) and
/// the number may belong to another file now. Then the file is opened anew by its path.
bool OutputFile::own_descriptor(struct stat& file) noexcept {
    rlimit limit{};
    limit_ = getrlimit(RLIMIT_FSIZE, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY ? limit.rlim_cur
                                                                                     : ~std::uint64_t{0};
    writes_left_ = writes_at_a_time;
    if (fd_ >= 0 && fstat(fd_, &file) == 0 && file.st_dev == device_ && file.st_ino == inode_)
        return true;
    fd_ = path_[0] == '/' ? ::open(path_, O_RDWR | O_NOFOLLOW | O_CLOEXEC) : -1;
    if (fd_ < 0)
        return false;
    if (fstat(fd_, &file) == 0 && file.st_dev == device_ && file.st_ino == inode_) {
        fd_ = raise_descriptor(fd_);
        return true;
    }
    ::close(fd_);
    fd_ = -1;
    return false;
}

FileFate OutputFile::look() noexcept {
    struct stat file {};
    if (!own_descriptor(file)) {
        // If the root has not changed, a path without a file has none for other processes either.
        const bool nowhere =
            fstatat(AT_FDCWD, path_, &file, AT_SYMLINK_NOFOLLOW) == 0 || errno == ENOENT || errno == ENOTDIR;
        const bool same_root =
            stat("/", &file) == 0 && file.st_dev == root_device_ && file.st_ino == root_inode_;
        return nowhere && same_root ? FileFate::removed : FileFate::out_of_sight;
    }
    if (file.st_nlink == 0)
        return FileFate::removed;
    return static_cast<std::uint64_t>(file.st_size) < bytes_ ? FileFate::cut : FileFate::as_left;
}

int OutputFile::lengthen(std::uint64_t end) noexcept {
    if (end <= bytes_)
        return 0;
    if (!is_within_limit(end))
        return EFBIG;
    if (ftruncate(fd_, static_cast<off_t>(end)) != 0)
        return errno;
    bytes_ = end;
    return 0;
}

int OutputFile::reserve(std::uint64_t offset, std::uint64_t bytes) noexcept {
    if (!is_within_limit(offset + bytes))
        return EFBIG;
    int error = 0;
    do
        error = posix_fallocate(fd_, static_cast<off_t>(offset), static_cast<off_t>(bytes));
    while (error == EINTR);
    if (error == 0)
        bytes_ = std::max(bytes_, offset + bytes);
    return error;
}

int OutputFile::copy(int from, std::uint64_t offset, std::uint64_t end) noexcept {
    if (const int error = lengthen(end))
        return error;
    auto read = static_cast<off_t>(offset), written = read;
    for (const auto last = static_cast<off_t>(end); read < last;) {
        const ssize_t done =
            copy_file_range(from, &read, fd_, &written, static_cast<std::size_t>(last - read), 0);
        if (done < 0 && errno == EINTR)
            continue;
        if (done == 0)
            return 0; // a hole at the end
        if (done < 0)
            return copy_by_hand(from, static_cast<std::uint64_t>(read), end);
    }
    return 0;
}

/// For file systems without copy_file_range(2).
int OutputFile::copy_by_hand(int from, std::uint64_t offset, std::uint64_t end) noexcept {
    static char buffer[64 * 1024];
    while (offset < end) {
        const ssize_t got = pread(from, buffer, std::min<std::uint64_t>(sizeof buffer, end - offset),
                                  static_cast<off_t>(offset));
        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0)
            return got < 0 ? errno : 0;
        if (const int error = write(offset, buffer, static_cast<std::size_t>(got)))
            return error;
        offset += static_cast<std::uint64_t>(got);
    }
    return 0;
}

int OutputFile::write(std::uint64_t offset, const void* data, std::size_t bytes) noexcept {
    struct stat file {};
    if ((bytes > short_write || --writes_left_ < 0) && !own_descriptor(file))
        return EBADF;
    if (!is_within_limit(offset + bytes))
        return EFBIG;
    const auto* at = static_cast<const char*>(data);
    while (bytes != 0) {
        const ssize_t done = pwrite_shared(fd_, at, bytes, static_cast<off_t>(offset));
        if (done < 0 && (errno == EINTR || (errno == EBADF && own_descriptor(file)))) // closed since we looked
            continue;
        if (done <= 0)
            return done < 0 ? errno : EIO;
        at += done;
        offset += static_cast<std::uint64_t>(done);
        bytes -= static_cast<std::size_t>(done);
    }
    return 0;
}

} // namespace umadvisor::record
