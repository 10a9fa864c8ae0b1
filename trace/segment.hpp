/// The shared memory segment (System V) that the chunks which are still written lie in. See FORMAT.md.
#pragma once

#include "trace/layout.hpp"

#include <array>
#include <atomic>
#include <cstdint>

namespace umadvisor::trace {

/// How a file names the segment of its writer, behind the FileHeader. `bytes` zero: there is none.
struct SegmentName {
    std::array<std::uint64_t, 2> cookie; ///< random; the segment says the same
    std::uint64_t bytes;                 ///< of the whole segment
    std::int32_t id;                     ///< shmget(2)
    std::uint32_t reserved;
};
static_assert(sizeof(SegmentName) == 32);
inline constexpr std::uint32_t segment_name_offset = sizeof(FileHeader);
/// A 64-bit number behind it, since 1.1: the first lap of a ring that is still there. Chunks of earlier laps
/// are to be overwritten and are not read.
inline constexpr std::uint32_t first_lap_offset = segment_name_offset + sizeof(SegmentName);

inline constexpr std::array<char, 8> segment_magic{'U', 'M', 'C', 'H', 'U', 'N', 'K', 'S'};

/// Starts the segment. It names the file in its turn: a file can only be given the segment that was made for
/// it.
struct Segment {
    std::array<char, 8> magic;
    std::array<std::uint64_t, 2> cookie;
    std::uint64_t device, inode;           ///< of the file: st_dev, st_ino
    std::atomic<std::uint64_t> file_bytes; ///< the file is at least as long; a shorter one was cut
    std::uint32_t slots;
    std::uint32_t reserved;
};
static_assert(sizeof(Segment) == 56);

/// What a slot holds: the number of its chunk in the file plus one; zero: nothing.
using SlotOwner = std::atomic<std::uint32_t>;

inline constexpr std::uint32_t most_slots = 4096;
inline constexpr std::uint32_t slot_owners_offset = 4096;   ///< most_slots times SlotOwner
inline constexpr std::uint32_t header_image_offset = 20480; ///< the file's first header_bytes
inline constexpr std::uint32_t slots_offset = 65536;        ///< `slots` chunks
static_assert(slot_owners_offset + most_slots * sizeof(SlotOwner) <= header_image_offset);
static_assert(header_image_offset + header_bytes <= slots_offset);

constexpr std::uint64_t segment_bytes(std::uint32_t slots) {
    return slots_offset + std::uint64_t{slots} * chunk_bytes;
}

} // namespace umadvisor::trace
