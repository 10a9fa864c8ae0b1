/// The memory that the header, the counters and the open chunks lie in until they are written to the file.
#pragma once

#include "trace/segment.hpp"

#include <cstdint>
#include <sys/types.h>

namespace umadvisor::record {

/// A System V segment: it has no name that anybody could cut it short by, it outlives a process that is killed,
/// and it needs no descriptor. Anonymous memory where there is none to be had. Not thread-safe: its owner's
/// lock covers it.
class ChunkMemory {
public:
    constexpr ChunkMemory() noexcept = default;

    /// False without any memory. The segment names the file by device and inode.
    bool create(dev_t device, ino_t inode) noexcept;

    /// Whether it outlives the process.
    bool outlives() const noexcept { return id_ >= 0; }
    /// Ends that: the memory goes with the process. False when that is not for us to decide any more.
    bool let_go() noexcept;

    /// Puts memory of the process alone in its place. In a forked child: the parent's is not to be written to,
    /// nor held.
    void forget() noexcept;

    /// What the file says of the segment.
    trace::SegmentName name() const noexcept;
    trace::Segment* segment() const noexcept { return reinterpret_cast<trace::Segment*>(base_); }
    std::uint8_t* header_image() const noexcept { return base_ + trace::header_image_offset; }

    /// A free slot for the chunk of that number, its header zeroed; nullptr: none is free. The rest of it is
    /// what was there before.
    std::uint8_t* take(std::uint32_t chunk) noexcept;
    void give_back(std::uint32_t slot) noexcept;

    std::uint32_t slots_used() const noexcept { return fresh_; } ///< those beyond have never been taken
    std::uint32_t slot_of(const std::uint8_t* chunk) const noexcept {
        return static_cast<std::uint32_t>((chunk - base_ - trace::slots_offset) / trace::chunk_bytes);
    }
    std::uint8_t* chunk_in(std::uint32_t slot) const noexcept {
        return base_ + trace::slots_offset + std::size_t{slot} * trace::chunk_bytes;
    }
    /// Number of the chunk in the slot plus one; 0: none.
    std::uint32_t owner_of(std::uint32_t slot) const noexcept {
        return owners()[slot].load(std::memory_order_relaxed);
    }

private:
    trace::SlotOwner* owners() const noexcept {
        return reinterpret_cast<trace::SlotOwner*>(base_ + trace::slot_owners_offset);
    }
    bool map(std::uint32_t slots) noexcept;
    bool open_more() noexcept;

    std::uint8_t* base_ = nullptr;
    std::uint64_t bytes_ = 0;
    int id_ = -1;
    std::uint32_t slots_ = 0;
    std::uint32_t open_ = 0;       ///< slots from here on are closed
    std::uint32_t fresh_ = 0;      ///< slots from here on have never been taken
    std::uint32_t free_count_ = 0; ///< of free_
    std::array<std::uint16_t, trace::most_slots>
        free_{}; ///< the one given back last is taken first: its pages are there
};

} // namespace umadvisor::record
