/// The definitions, one stream for the process.
#pragma once

#include "interposer/record/chunk_writer.hpp"
#include "interposer/record/kept_chunks.hpp"
#include "interposer/record/mutex.hpp"
#include "interposer/record/taking.hpp"
#include "trace/definitions.hpp"

#include <cstdint>

namespace umadvisor::record {

class Sink;

/// Thread-safe: everything happens under its lock.
class Dictionary {
public:
    constexpr Dictionary() noexcept = default;

    /// From now on what is defined is also kept for traces that begin later, but for what is of one trace
    /// alone.
    void keep() noexcept { keeps_ = true; }

    template <class Record>
    void define(const Record& record) noexcept;

    /// Begins a file with what is kept: from now on records are written (record::keeps()).
    void begin_file() noexcept;
    /// Ends it: from now on they are not.
    void end_file() noexcept;
    void seal() noexcept;

    /// Writes what is kept into a file apart, and why that is written.
    void write_kept_to(Sink& file, const trace::Recording& recording) noexcept;

private:
    /// Chunks that are written one after the other.
    struct Stream {
        ChunkWriter chunk;
        std::uint32_t number; ///< as in ChunkHeader::thread
        std::uint32_t sequence;
        std::uint32_t part;

        template <class Record>
        void put(const Record& record) noexcept;
        bool renew(std::size_t bytes) noexcept;
        void seal_and_keep() noexcept;
        /// Whether its lap is over.
        bool is_stale() const noexcept {
            return number != 0 && chunk.header != nullptr && part != record::part();
        }
    };

    template <class Record>
    bool goes_with_lap(std::size_t bytes) noexcept;

    Mutex mutex_{Lock::dictionary};
    bool keeps_ = false;
    KeptChunks kept_;
    std::uint64_t graph_bytes_ = 0; ///< of nodes of graphs in the file, at most
    Stream file_{};                 ///< of the whole file
    Stream lap_{.chunk = {}, .number = 1, .sequence = 0, .part = 0}; ///< of a ring: goes with its lap
};

extern constinit Dictionary dictionary;

} // namespace umadvisor::record
