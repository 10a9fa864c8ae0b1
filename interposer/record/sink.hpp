/// Chunks: handed out in memory, written to the trace file.
#pragma once

#include "interposer/record/chunk_memory.hpp"
#include "interposer/record/chunk_writer.hpp"
#include "interposer/record/mutex.hpp"
#include "interposer/record/output_file.hpp"
#include "interposer/record/recorder.hpp"
#include "interposer/record/ring_laps.hpp"
#include "trace/layout.hpp"

#include <array>
#include <atomic>
#include <cstdint>

namespace umadvisor::record {

/// One file at a time. Thread-safe, except create(). The program's calls write to the memory of open chunks.
/// The file is written with write(2) alone, since a store into a mapping of a truncated file would raise
/// SIGBUS. A full file stays valid: further records are counted.
class Sink {
public:
    constexpr Sink() noexcept = default;

    /// Provides the memory of header and counters before there is a file. False without memory.
    bool sleep() noexcept;

    /// Creates the file, header page written. Returns nullptr or why not (static text).
    const char* create(const Settings& settings) noexcept;

    /// Ends the file, as close() does, and returns to sleep(). Chunks that threads still have are not of a file
    /// any more: finish() only frees them. Returns whether the file has everything.
    bool end() noexcept;

    /// Begins the next lap of a ring, whose events go into new chunks. The oldest lap makes room.
    void next_lap() noexcept;
    /// Whether that is due; `now` is CLOCK_MONOTONIC.
    bool lap_is_due(std::uint64_t now) const noexcept { return laps_.is_due(now); }

    /// When the part that is written began, in ticks. With what is alive locked.
    std::uint64_t beginning() const noexcept {
        return laps_.any() ? laps_.last_beginning() : header_->first.ticks;
    }

    /// Writes the whole trace as it is into another file, which must not exist. Returns nullptr or why not.
    const char* copy_to(const char* path) noexcept;

    /// Of a thread's first chunk: most threads that live briefly need no more.
    static constexpr std::uint32_t first_room = 4096;

    struct Claimed {
        std::uint8_t* memory; ///< null: the file is full
        std::uint32_t part;   ///< that the chunk is of (part())
    };
    /// Memory for a new chunk, its header zeroed but for the lap. Its owner may fill the first `room` bytes,
    /// whose blocks in the file are reserved. Locks. A full file is reported on stderr, once. `of_lap`: the
    /// chunk of a ring goes with the lap that it is begun in, as those of events and states always do.
    Claimed claim(trace::ChunkKind kind, std::uint32_t room = trace::chunk_bytes, bool of_lap = false) noexcept;

    /// Makes more room in a chunk that is full so far. False if it has all of its room already, or the file is
    /// full. By the chunk's owner.
    bool extend(std::uint8_t* chunk) noexcept;
    /// How many bytes of it its owner may fill.
    std::uint32_t room_of(const std::uint8_t* chunk) const noexcept {
        return slots_[memory_.slot_of(chunk)].room;
    }

    /// Takes a sealed chunk back. It is written to the file, and its memory freed, with others of threads that
    /// lived briefly. On disk it takes what its owner had room for: thousands of such threads cost a page each,
    /// not 64 KiB. By the chunk's owner.
    void finish(std::uint8_t* chunk) noexcept;
    /// Seals it first.
    void finish_sealed(ChunkWriter& chunk) noexcept {
        chunk.seal();
        finish(chunk.memory());
        chunk = {};
    }

    /// Writes a chunk as it is; its owner keeps the memory. By the chunk's owner.
    void keep(std::uint8_t* chunk) noexcept;

    /// Whether the last write_out() was long enough ago; `now` is CLOCK_MONOTONIC.
    bool is_due(std::uint64_t now) const noexcept { return now >= next_write_.load(std::memory_order_relaxed); }
    /// Writes what all threads have committed, unless another thread does: if the segment is removed, as with a
    /// container, the file lacks only the last moments.
    void write_out(std::uint64_t now) noexcept;

    /// The last write: writes everything, and has the memory freed with the process. Later records have to be
    /// written by keep().
    void close() noexcept;
    std::uint64_t room() const noexcept { return room_; } ///< bytes that the file may have
    const char* path() const noexcept { return file_.path(); }
    bool closed() const noexcept { return closed_.load(std::memory_order_relaxed); }

    /// Whether committed records outlive a process that is killed.
    bool outlives() const noexcept { return memory_.outlives(); }

    /// Whether the file is not ours any more, which was reported on stderr.
    bool lost() const noexcept { return lost_.load(std::memory_order_relaxed); }

    /// In a forked child: releases the parent's memory.
    void forget() noexcept { memory_.forget(); }

    /// Whether the file is full. Further records are counted.
    bool full() const noexcept { return full_.load(std::memory_order_relaxed) != trace::DropReason::count_; }

    /// Counts a record that was dropped because the file is full.
    void drop() noexcept { drop(full_.load(std::memory_order_relaxed)); }
    /// Counts a record by reason.
    void drop(trace::DropReason reason) noexcept;

    trace::FileHeader* header() const noexcept { return header_; }
    std::uint64_t* counters() const noexcept;

private:
    struct Slot {
        std::uint32_t written; ///< bytes of records that the file has
        std::uint32_t room;    ///< bytes of the chunk that its owner may fill
        bool begun;            ///< the file has the chunk's header
        bool finished;         ///< its thread has ended, and it is to be written
        std::uint32_t file;    ///< number of the file that it is of
        std::uint32_t lap;     ///< of a ring; 0: of none
    };

    const char* begin(const Settings& settings) noexcept;
    void give_up_memory() noexcept;
    void describe_file() noexcept;
    bool may_grow() const noexcept;
    bool has_room(std::uint64_t bytes) const noexcept { return used_ + bytes <= room_; }
    bool make_room(std::uint64_t bytes) noexcept;
    /// Whether the file has no place for the chunk: it is of an earlier file, or of a lap that made room.
    bool is_stray(const Slot& slot) const noexcept {
        return slot.file != files_ || (slot.lap != 0 && slot.lap < laps_.first());
    }
    void drop_oldest_lap() noexcept;
    void write_first_lap() noexcept;
    void begin_part() noexcept;
    bool write_end() noexcept;
    int lengthen() noexcept;
    bool prepare(std::uint32_t chunk, std::uint32_t reserved) noexcept;
    enum class Access : std::uint8_t { whole, confined, none };
    Access access() noexcept;
    bool reachable() noexcept { return access() == Access::whole; }
    void fill(trace::DropReason reason, const char* why) noexcept;
    void lose(FileFate fate) noexcept;
    int write_header() noexcept;
    int write_whole(std::uint32_t slot) noexcept;
    int write_committed(std::uint32_t slot) noexcept;
    bool write_all() noexcept;
    bool put_away(std::uint32_t slot) noexcept;
    void put_away_finished() noexcept;

    Mutex mutex_{Lock::sink};
    trace::FileHeader* header_ = nullptr; ///< in memory_; the file has a copy
    OutputFile file_;
    ChunkMemory memory_;
    std::array<Slot, trace::most_slots> slots_{};
    std::uint32_t next_ = 0;     ///< chunk to hand out next
    std::uint32_t places_ = 0;   ///< chunks that have a place in the file, its first page reserved
    std::uint32_t finished_ = 0; ///< chunks that came back since some were written
    std::uint64_t room_ = 0;     ///< bytes for chunks, by the size cap and the format
    std::uint64_t used_ = 0;     ///< of these; the cap limits the blocks on disk
    RingLaps laps_;
    std::uint32_t files_ = 0; ///< begun so far
    std::uint32_t part_ = 0;
    bool open_ = false;    ///< there is a file
    bool copying_ = false; ///< no place may be used for another chunk
    std::atomic<bool> lost_{false};
    std::atomic<bool> closed_{false};
    std::atomic<std::uint64_t> next_write_{0};                       ///< not before, CLOCK_MONOTONIC
    std::atomic<trace::DropReason> full_{trace::DropReason::count_}; ///< count_: the file can grow
};

/// The trace of this process.
extern constinit Sink sink;

} // namespace umadvisor::record
