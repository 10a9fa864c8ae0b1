/// The trace file: created safely, its space reserved before it is mapped, handed out in chunks.
#pragma once

#include "interposer/record/mutex.hpp"
#include "interposer/record/recorder.hpp"
#include "trace/layout.hpp"

#include <atomic>
#include <cstdint>
#include <sys/stat.h>

namespace umadvisor::record {

/// One file. Thread-safe but for create(). A file that cannot grow any more stays valid: what comes then is
/// counted.
class Sink {
public:
    constexpr Sink() noexcept = default;

    /// Creates and maps the file, header page filled in. Returns nullptr or why not (static text).
    const char* create(const Settings& settings) noexcept;

    /// Zeroed memory of a new chunk, `index` its number, or nullptr when the file is full. Takes a lock.
    /// That the file has become full is told on stderr, once.
    std::uint8_t* claim(trace::ChunkKind kind, std::uint32_t& index) noexcept;

    /// Gives the blocks of a chunk's unused tail back to the file system; the chunk reads as zeros there. For
    /// sealed chunks of threads that have ended: thousands of short-lived threads cost a page each on disk, not
    /// 64 KiB.
    void release_tail(std::uint32_t index, std::uint32_t used) noexcept;

    /// Whether the file takes no more events. What comes then is counted.
    bool full() const noexcept { return full_.load(std::memory_order_relaxed) != trace::DropReason::count_; }

    /// Counts a record that the full file did not take.
    void drop() noexcept { drop(full_.load(std::memory_order_relaxed)); }
    /// Counts a record by reason.
    void drop(trace::DropReason reason) noexcept;

    /// Whether the file has its name yet, as far as this process can see.
    bool has_file() noexcept;

    trace::FileHeader* header() const noexcept { return header_; }
    std::uint64_t* counters() const noexcept;

private:
    const char* map_header() noexcept;
    bool grow() noexcept;
    std::uint32_t max_chunks() const noexcept;
    int reserve(std::uint64_t offset, std::uint64_t bytes) noexcept;
    bool own_descriptor() noexcept;
    void fill(trace::DropReason reason, const char* why) noexcept;

    Mutex mutex_;
    trace::FileHeader* header_ = nullptr;
    int fd_ = -1;
    dev_t device_ = 0;
    ino_t inode_ = 0;
    std::uint32_t next_ = 0;        ///< chunk to hand out next
    std::uint32_t mapped_ = 0;      ///< chunks that have memory
    std::uint64_t room_ = 0;        ///< bytes for chunks, by the size cap and the format
    std::uint64_t released_ = 0;    ///< of those handed out, given back to the file system
    std::uint8_t* batch_ = nullptr; ///< memory of chunk batch_first_ and its followers up to mapped_
    std::uint32_t batch_first_ = 0;
    std::atomic<trace::DropReason> full_{trace::DropReason::count_}; ///< count_: the file can grow
    char path_[4096] = {}; ///< absolute, to find the file again when the program has closed our descriptor
};

/// The trace of this process.
extern constinit Sink sink;

} // namespace umadvisor::record
