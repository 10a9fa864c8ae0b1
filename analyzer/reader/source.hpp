/// The bytes of a trace file.
#pragma once

#include "analyzer/reader/segment.hpp"

#include <cstddef>
#include <cstdint>
#include <string>

namespace umadvisor::reader {

/// An open regular file, read by position. Not mapped: a trace that is cut while we look at it would end a
/// mapping reader with SIGBUS. What its writer still has in memory is read as part of it, as of the moment of
/// opening. Movable; thread-safe for reading.
class Source {
public:
    /// Throws Error: no such file, a directory, no permission.
    explicit Source(const std::string& path);
    Source(Source&& other) noexcept;
    Source& operator=(Source&&) = delete;
    ~Source();

    /// Reads up to `bytes` at `offset`; returns how many there were. Throws Error when the device fails.
    std::size_t read(std::uint64_t offset, void* out, std::size_t bytes) const;

    std::uint64_t size() const { return size_; }          ///< when it was opened
    const std::string& path() const { return path_; }     ///< to be shown: plain
    const std::string& opened() const { return opened_; } ///< the same as it was given: to be opened again
    /// Whether some of it was in memory that is gone, or is out of this process's reach.
    bool end_lost() const { return unwritten_.lost; }

private:
    std::size_t read_file(std::uint64_t offset, void* out, std::size_t bytes) const;

    std::string path_, opened_;
    int file_ = -1;
    std::uint64_t size_ = 0;
    Unwritten unwritten_;
};

} // namespace umadvisor::reader
