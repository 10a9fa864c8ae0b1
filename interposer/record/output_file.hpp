/// The trace file of the recorder: created safely, never mapped.
#pragma once

#include <cstddef>
#include <cstdint>
#include <sys/stat.h>

namespace umadvisor::record {

/// The state of the file since it was created.
enum class FileFate : std::uint8_t {
    as_left,      ///< it exists and has its length
    out_of_sight, ///< the program closed our descriptor, and the path has another file or none
    removed,      ///< it was unlinked
    cut,          ///< it was truncated
};

/// One file. Not thread-safe: its owner's lock covers it. Errors are errno values.
class OutputFile {
public:
    constexpr OutputFile() noexcept = default;

    /// Makes the file: O_EXCL unless `force`, no links followed, mode 0600. Returns nullptr or why not (static
    /// text).
    const char* create(const char* path, bool force) noexcept;
    /// Removes the file again, because nothing could be written. Returns the whole sentence (static text).
    const char* fail(const char* path, const char* why) noexcept;

    /// Another file may be created then.
    void close() noexcept;
    /// A descriptor of the file, for its reader to close; -1: there is none.
    int duplicate() const noexcept;

    /// To be called before anything is written: the other calls rely on its last answer, `as_left`.
    FileFate look() noexcept;

    /// Lets the file reach to `end`, without blocks.
    int lengthen(std::uint64_t end) noexcept;
    /// Reserves blocks, so that a full disk shows here and not when records are to be written.
    int reserve(std::uint64_t offset, std::uint64_t bytes) noexcept;
    int write(std::uint64_t offset, const void* data, std::size_t bytes) noexcept;
    /// Copies [offset, end) of another file to the same place. One copy at a time in the process.
    int copy(int from, std::uint64_t offset, std::uint64_t end) noexcept;

    dev_t device() const noexcept { return device_; }
    ino_t inode() const noexcept { return inode_; }
    std::uint64_t bytes() const noexcept {
        return bytes_;
    } ///< of the last write or reservation, so the file must be at least as long
    const char* path() const noexcept { return path_; } ///< absolute

private:
    int copy_by_hand(int from, std::uint64_t offset, std::uint64_t end) noexcept;
    bool own_descriptor(struct stat& file) noexcept;
    bool is_within_limit(std::uint64_t end) const noexcept { return end <= limit_; }

    int fd_ = -1;
    dev_t device_ = 0, root_device_ = 0;
    ino_t inode_ = 0, root_inode_ = 0;
    std::uint64_t bytes_ = 0;
    std::uint64_t limit_ = ~std::uint64_t{0}; ///< RLIMIT_FSIZE: beyond it comes SIGXFSZ (setrlimit(2))
    int writes_left_ = 0;                     ///< before the descriptor is looked at again
    char path_[4096] = {}; ///< to find the file again when the program has closed our descriptor
};

/// Words for an errno value. strerror(3) may allocate and reads the locale.
const char* describe(int error) noexcept;

} // namespace umadvisor::record
