/// The fixed-width structures of a .umtrace file: file header, call counters, chunk header. See FORMAT.md.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

namespace umadvisor::trace {

inline constexpr std::array<char, 8> file_magic{'U', 'M', 'T', 'R', 'A', 'C', 'E', '\n'};
inline constexpr std::uint16_t version_major = 1; ///< A reader refuses a greater one.
inline constexpr std::uint16_t version_minor = 1; ///< Greater ones only add records, fields and chunk kinds.
inline constexpr std::uint32_t endian_mark = 0x01020304;
inline constexpr std::uint32_t chunk_magic = 0x4b434d55; ///< "UMCK" in little endian.
inline constexpr std::uint32_t chunk_bytes = 64 * 1024;
inline constexpr std::uint32_t counter_slots =
    2048; ///< One per driver entry point, with room for newer drivers.

/// What a tick of the recorded times is.
enum class ClockKind : std::uint8_t {
    monotonic = 1, ///< CLOCK_MONOTONIC, nanoseconds
    tsc = 2,       ///< invariant time-stamp counter; the clock pairs give its rate
    simulated = 3, ///< simcuda's virtual clock, nanoseconds
};

/// One moment read from both clocks; two of them give the rate of the ticks.
struct ClockPair {
    std::uint64_t ticks;
    std::uint64_t monotonic_ns; ///< CLOCK_MONOTONIC; on a simulated clock the same as ticks
};

enum class FileState : std::uint8_t {
    recording = 0, ///< never closed: the program was killed, or is still running
    closed = 1,
};

/// Why records are missing, one counter each.
enum class DropReason : std::uint8_t { disk_full, size_cap, oversized, no_memory, count_ };

/// First page of the file. Written by the process that owns the trace; the atomics are updated while it runs,
/// so that they are right after SIGKILL too.
struct FileHeader {
    std::array<char, 8> magic;
    std::uint16_t major;
    std::uint16_t minor;
    std::uint32_t endian;
    std::uint32_t header_bytes; ///< offset of the first chunk
    std::uint32_t chunk_size;   ///< chunk_bytes of the writer
    std::uint32_t counters_offset;
    std::uint32_t counters; ///< slots at counters_offset, each a std::uint64_t
    std::uint32_t pid;
    ClockKind clock;
    std::atomic<FileState> state;
    /// Since 1.1. 1: the recording began while the program ran, or is the last part of one. Chunks of the kind
    /// `state` have what was alive.
    std::uint16_t late;
    std::uint64_t realtime_ns; ///< CLOCK_REALTIME at `first`
    ClockPair first;
    std::atomic<std::uint64_t> last_ticks; ///< renewed at synchronisations and new chunks
    std::atomic<std::uint64_t> last_monotonic_ns;
    std::atomic<std::uint32_t> chunks;     ///< chunks handed out; the file may be longer
    std::atomic<std::uint32_t> stacks_cut; ///< since 1.1: captures that did not come to the stack's end
    std::array<std::atomic<std::uint64_t>, static_cast<std::size_t>(DropReason::count_)> dropped;
    std::atomic<std::uint64_t> own_ticks; ///< time spent in umadvisor's own slow paths
};
static_assert(sizeof(FileHeader) == 128 && std::atomic<std::uint64_t>::is_always_lock_free);

inline constexpr std::uint32_t counters_offset = 4096;
inline constexpr std::uint32_t header_bytes = 4096 + counter_slots * 8; // a multiple of 4096
static_assert(header_bytes % 4096 == 0);

enum class ChunkKind : std::uint8_t {
    event = 1,      ///< records of one thread, in the order in which they were committed
    dictionary = 2, ///< definitions, valid in the whole file
    summary = 3,    ///< since 1.1: counts of the calls whose records the full file did not take
    /// Since 1.1: event records, from before the recording, of what was alive when it began, or its lap. Delta
    /// state starts from zero in each record.
    state = 4,
};

enum class ChunkState : std::uint8_t { open = 0, sealed = 1 };

/// Starts every chunk; records follow until `committed`. Delta state starts from zero in each chunk, but for
/// time, which starts from base_time.
struct ChunkHeader {
    std::uint32_t magic;
    ChunkKind kind;
    std::atomic<ChunkState> state;
    std::uint16_t reserved;
    std::uint32_t thread;   ///< Linux thread id
    std::uint32_t sequence; ///< counts the chunks of this thread and kind from zero
    std::uint64_t base_time;
    std::atomic<std::uint32_t> committed; ///< bytes of records after this header
    std::uint32_t lap;                    ///< since 1.1: of a ring, from 1; 0: the chunk belongs to no lap
    std::uint64_t checksum;               ///< of the committed bytes, once sealed
    std::uint64_t reserved3[3];
};
static_assert(sizeof(ChunkHeader) == 64);

inline constexpr std::uint32_t chunk_capacity = chunk_bytes - sizeof(ChunkHeader);

/// Calls of one entry point, kernel and stack that were dropped. Summary chunks hold these in place of records,
/// updated where they stand.
struct SummarySlot {
    std::atomic<std::uint64_t> site; ///< as site_key() packs it; 0: free
    std::atomic<std::uint64_t> calls;
    std::atomic<std::uint64_t> failed;
    std::atomic<std::uint64_t> bytes; ///< that they allocated, copied, set or prefetched
    std::atomic<std::uint64_t> ticks; ///< that they took
};
static_assert(sizeof(SummarySlot) == 40);

inline constexpr std::uint32_t summary_slots = chunk_capacity / sizeof(SummarySlot);
/// The first slot takes the calls of sites that find no slot of their own.
inline constexpr std::uint64_t any_site = ~std::uint64_t{0};

/// entry + 1 in bits 0 to 10, function in 11 to 31, stack in 32 to 63; what does not fit is 0.
constexpr std::uint64_t site_key(std::uint64_t entry, std::uint64_t function, std::uint64_t stack) {
    return ((entry + 1) & 0x7ff) | (function >> 21 == 0 ? function << 11 : 0) |
           (stack >> 32 == 0 ? stack << 32 : 0);
}

} // namespace umadvisor::trace
