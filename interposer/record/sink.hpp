/// Chunks: handed out in memory, written to the trace file.
#pragma once

#include "interposer/record/chunk_memory.hpp"
#include "interposer/record/mutex.hpp"
#include "interposer/record/output_file.hpp"
#include "interposer/record/recorder.hpp"
#include "trace/layout.hpp"

#include <array>
#include <atomic>
#include <cstdint>

namespace umadvisor::record {

/// One file. Thread-safe but for create(). What the program's calls touch is the memory of open chunks; the
/// file is only ever written to with write(2), since a store into a mapping of it would be death by SIGBUS once
/// somebody has cut it. A file that takes no more stays valid: what comes then is counted.
class Sink {
public:
    constexpr Sink() noexcept = default;

    /// Creates the file, header page written. Returns nullptr or why not (static text).
    const char* create(const Settings& settings) noexcept;

    /// Memory for a new chunk, its header zeroed, or nullptr when the file takes no more. Its place in the file
    /// is reserved. Takes a lock. That the file takes no more is told on stderr, once.
    std::uint8_t* claim(trace::ChunkKind kind) noexcept;

    /// Writes a sealed chunk to the file and takes its memory back. The blocks of its unused tail go back to
    /// the file system, where the chunk reads as zeros: thousands of short-lived threads cost a page each on
    /// disk, not 64 KiB. By the chunk's owner.
    void finish(std::uint8_t* chunk) noexcept;

    /// Writes a chunk as it is; its owner keeps the memory. By the chunk's owner.
    void keep(std::uint8_t* chunk) noexcept;

    /// Whether the last write_out() is some while ago; `now` is CLOCK_MONOTONIC.
    bool is_due(std::uint64_t now) const noexcept { return now >= next_write_.load(std::memory_order_relaxed); }
    /// Writes what all threads have committed, if nobody else is at it: where the segment goes, as that of a
    /// container does, the file has all but the last moments.
    void write_out(std::uint64_t now) noexcept;

    /// The last time for sure: writes everything, and the memory is to go with the process. Calls may still be
    /// recorded: whoever does, keep()s them.
    void close() noexcept;
    bool closed() const noexcept { return closed_.load(std::memory_order_relaxed); }

    /// Whether what is committed outlives a process that is killed.
    bool outlives() const noexcept { return memory_.outlives(); }

    /// Whether the file was taken from us, which was told on stderr then.
    bool lost() const noexcept { return lost_.load(std::memory_order_relaxed); }

    /// In a forked child: lets go of the parent's memory.
    void forget() noexcept { memory_.forget(); }

    /// Whether the file takes no more events. What comes then is counted.
    bool full() const noexcept { return full_.load(std::memory_order_relaxed) != trace::DropReason::count_; }

    /// Counts a record that the full file did not take.
    void drop() noexcept { drop(full_.load(std::memory_order_relaxed)); }
    /// Counts a record by reason.
    void drop(trace::DropReason reason) noexcept;

    trace::FileHeader* header() const noexcept { return header_; }
    std::uint64_t* counters() const noexcept;

private:
    struct Slot {
        std::uint32_t written; ///< bytes of records that the file has
        bool begun;            ///< the file has the chunk's header
        bool finished;         ///< its owner is gone; it is to be written
    };

    void describe_file() noexcept;
    int reserve() noexcept;
    bool grow() noexcept;
    std::uint32_t max_chunks() const noexcept;
    bool reachable() noexcept;
    void fill(trace::DropReason reason, const char* why) noexcept;
    void lose(FileFate fate) noexcept;
    int write_header() noexcept;
    int write_whole(std::uint32_t slot) noexcept;
    int write_committed(std::uint32_t slot) noexcept;
    bool write_all() noexcept;
    bool put_away(std::uint32_t slot) noexcept;
    void release_tail(std::uint64_t chunk, std::uint32_t used) noexcept;

    Mutex mutex_{Lock::sink};
    trace::FileHeader* header_ = nullptr; ///< in memory_; the file has a copy
    OutputFile file_;
    ChunkMemory memory_;
    std::array<Slot, trace::most_slots> slots_{};
    std::uint32_t next_ = 0;     ///< chunk to hand out next
    std::uint32_t reserved_ = 0; ///< chunks whose place in the file is reserved
    std::uint64_t room_ = 0;     ///< bytes for chunks, by the size cap and the format
    std::uint64_t released_ = 0; ///< of those handed out, given back to the file system
    std::atomic<bool> lost_{false};
    std::atomic<bool> closed_{false};
    std::atomic<std::uint64_t> next_write_{0};                       ///< not before, CLOCK_MONOTONIC
    std::atomic<trace::DropReason> full_{trace::DropReason::count_}; ///< count_: the file can grow
};

/// The trace of this process.
extern constinit Sink sink;

} // namespace umadvisor::record
