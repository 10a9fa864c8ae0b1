/// The memory of the header, the counters and the open chunks until they are written to the file.
#pragma once

#include "trace/segment.hpp"

#include <cstdint>
#include <sys/types.h>

namespace umadvisor::record {

/// A System V segment: it is not a file that could be truncated, it outlives a process that is killed, and it
/// needs no descriptor. Anonymous memory if there is no segment. Not thread-safe: the owner's lock covers it.
class ChunkMemory {
public:
    constexpr ChunkMemory() noexcept = default;

    /// False without any memory. The segment names the file by device and inode. A second one takes the place
    /// of the first, at the same address: code that still has an address in it finds zeroed memory there, at
    /// every moment. Slots that are in use stay so.
    bool create(dev_t device, ino_t inode) noexcept;
    /// The same with memory of the process alone, for no file. The segment stays for a reader if let_go() has
    /// not been called.
    bool create_private() noexcept;

    /// Whether it outlives the process.
    bool outlives() const noexcept { return id_ >= 0; }
    /// Has the memory freed with the process. False if we may not decide that any more.
    bool let_go() noexcept;

    /// Replaces it by private memory. In a forked child, which must neither write to the parent's memory nor
    /// hold it.
    void forget() noexcept;

    /// The segment's name for the file.
    trace::SegmentName name() const noexcept;
    trace::Segment* segment() const noexcept { return reinterpret_cast<trace::Segment*>(base_); }
    std::uint8_t* header_image() const noexcept { return base_ + trace::header_image_offset; }

    /// A free slot for the chunk of that number, its header zeroed and its other bytes unchanged; nullptr if
    /// none is free.
    std::uint8_t* take(std::uint32_t chunk) noexcept;
    void give_back(std::uint32_t slot) noexcept;
    /// The chunk in a slot is not of the file any more. The slot stays in use.
    void disown(std::uint32_t slot) noexcept { owners()[slot].store(0, std::memory_order_release); }

    std::uint32_t slots_used() const noexcept { return fresh_; } ///< those beyond were never used
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
    bool map_private(std::uint32_t slots) noexcept;
    void keep_to_itself() noexcept;
    bool open_more() noexcept;

    std::uint8_t* base_ = nullptr;
    std::uint64_t bytes_ = 0;
    int id_ = -1;
    std::uint32_t slots_ = 0;
    std::uint32_t open_ = 0;       ///< slots from here on are not accessible
    std::uint32_t fresh_ = 0;      ///< slots from here on were never used
    std::uint32_t free_count_ = 0; ///< of free_
    std::array<std::uint16_t, trace::most_slots>
        free_{}; ///< the one given back last is used first: its pages are resident
};

} // namespace umadvisor::record
