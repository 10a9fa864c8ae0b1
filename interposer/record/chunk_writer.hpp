/// Encodes records straight into the memory of a chunk.
#pragma once

#include "trace/brief_launch.hpp"
#include "trace/checksum.hpp"
#include "trace/encoder.hpp"
#include "trace/layout.hpp"

#include <atomic>
#include <cstdint>

namespace umadvisor::record {

/// One chunk at a time. For one thread, or under one lock. All zeros: no chunk.
struct ChunkWriter {
    trace::ChunkHeader* header;
    std::uint8_t* at;    ///< next byte
    std::uint8_t* limit; ///< end of the room; equals `at` while the chunk is sealed
    trace::DeltaState state;

    /// Whether `bytes` more fit. False without a chunk, or if it is sealed.
    bool room(std::size_t bytes) const noexcept { return bytes <= static_cast<std::size_t>(limit - at); }

    /// Appends; the record is part of the trace from commit() on. The caller has checked that it fits.
    template <class Record>
    void put(const Record& record) noexcept {
        at = trace::encode(at, record, state);
    }
    /// The same for a launch without other records, with `start` less than trace::BriefLaunch::span after the
    /// last time.
    [[gnu::always_inline]] void put_brief(std::uint32_t head, std::uint64_t start) noexcept {
        trace::BriefLaunch::put(at, head, start - state.time);
        at += trace::BriefLaunch::bytes;
        state.time = start;
    }
    /// With release: a load of `committed` with acquire (Sink::write_out() in another thread, a reader of the
    /// segment in another process) makes the bytes of all records before it visible. Only the owner stores it,
    /// so it only grows while the chunk is open. Stores that a killed thread executed before it become visible
    /// in any case.
    void commit() noexcept { header->committed.store(used(), std::memory_order_release); }

    /// Its owner may fill `room_bytes` of the chunk.
    void begin(std::uint8_t* chunk, trace::ChunkKind kind, std::uint32_t thread, std::uint32_t sequence,
               std::uint64_t time, std::uint32_t room_bytes = trace::chunk_bytes) noexcept {
        header = reinterpret_cast<trace::ChunkHeader*>(chunk);
        at = records();
        limit = chunk + room_bytes;
        state = {.time = time};
        header->kind = kind;
        header->thread = thread;
        header->sequence = sequence;
        header->base_time = time;
        // A chunk with the magic has the rest: release here, acquire where it is looked for (has_begun(), the
        // readers). All four are plain, since no thread changes them until the memory holds another chunk.
        std::atomic_ref(header->magic).store(trace::chunk_magic, std::memory_order_release);
    }

    void seal() noexcept {
        if (header == nullptr || header->state.load(std::memory_order_relaxed) == trace::ChunkState::sealed)
            return;
        // The checksum is plain: Sink::finish() and keep() read it, which this thread calls itself.
        header->checksum = trace::checksum(records(), used());
        header->state.store(trace::ChunkState::sealed, std::memory_order_release);
        limit = at;
    }

    /// Opens a sealed chunk again, so that records after close() can use the rest of it. Returns whether there
    /// was one.
    bool reopen(std::uint32_t room_bytes) noexcept {
        if (header->state.load(std::memory_order_relaxed) == trace::ChunkState::open)
            return false;
        header->state.store(trace::ChunkState::open, std::memory_order_release);
        limit = memory() + room_bytes;
        return true;
    }

    std::uint8_t* memory() const noexcept { return reinterpret_cast<std::uint8_t*>(header); }
    std::uint32_t used() const noexcept { return static_cast<std::uint32_t>(at - records()); }

private:
    std::uint8_t* records() const noexcept { return reinterpret_cast<std::uint8_t*>(header) + sizeof *header; }
};

} // namespace umadvisor::record
