/// A trace file and its chunks.
#pragma once

#include "analyzer/reader/header.hpp"
#include "analyzer/reader/source.hpp"

#include <atomic>
#include <cstdint>
#include <string>
#include <vector>

namespace umadvisor::reader {

/// Where a chunk stands and whose it is.
struct ChunkInfo {
    std::uint64_t offset = 0; ///< of its header in the file
    trace::ChunkKind kind{};
    bool sealed = false;
    std::uint32_t thread = 0, sequence = 0, committed = 0, lap = 0;
    std::uint64_t base_time = 0, checksum = 0;
};

/// Which parts of the file could not be read. All zero, and `closed`: the trace is complete.
struct Completeness {
    bool closed = false;
    std::uint64_t chunks_missing = 0;    ///< handed out, but beyond the end of the file
    std::uint64_t chunks_damaged = 0;    ///< bad header, bad checksum or a record that cannot be
    std::uint64_t chunks_cut = 0;        ///< the file ends inside them; read as far as they go
    std::uint64_t chunks_unknown = 0;    ///< of a kind newer than this reader
    std::uint64_t sequences_missing = 0; ///< chunks that a thread had begun and that are not there
    bool end_lost = false;               ///< it was in the program's memory, which is gone or out of reach
    std::uint64_t records_unknown = 0;   ///< of a type newer than this reader; skipped
    std::uint64_t records_refused = 0;   ///< with values that no machine can have
    bool header_cut = false;             ///< the file ends before its first chunk: counts of calls are missing
    bool whole() const {
        return !header_cut && !end_lost &&
               chunks_missing + chunks_damaged + chunks_cut + sequences_missing + records_refused == 0;
    }
};

/// Chunks of all traces of this process: how many were found, and how often one was read. Thread-safe.
struct ReadCount {
    std::atomic<std::uint64_t> found = 0, read = 0;
};
extern ReadCount read_count;

/// Opens a trace, checks its header and finds its chunks. What is wrong further in is counted in
/// completeness(), not thrown. Memory: 40 bytes a chunk.
class TraceFile {
public:
    /// Throws Error.
    explicit TraceFile(const std::string& path);

    const Header& header() const { return header_; }
    const std::string& path() const { return source_.path(); }
    const Source& source() const { return source_; }
    /// In file order; the chunks of one thread stand in the order in which they were begun.
    const std::vector<ChunkInfo>& chunks() const { return chunks_; }

    /// The committed bytes of a chunk. False when it is damaged.
    bool load(const ChunkInfo& chunk, std::vector<std::uint8_t>& bytes);

    const Completeness& completeness() const { return completeness_; }
    Completeness& completeness() { return completeness_; }

private:
    void find_chunks();
    void choose_laps();
    void find_gaps();

    Source source_;
    Header header_;
    std::vector<ChunkInfo> chunks_;
    Completeness completeness_;
};

} // namespace umadvisor::reader
