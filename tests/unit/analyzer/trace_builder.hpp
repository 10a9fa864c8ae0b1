/// Traces made to order, written with the recorder's own encoder.
#pragma once

#include "analyzer/ids/stack_id.hpp"
#include "trace/layout.hpp"
#include "trace/records.hpp"

#include <concepts>
#include <cstdint>
#include <map>
#include <ostream>
#include <string>
#include <vector>

/// Tests know stacks by the numbers that they put into records.
namespace umadvisor::ids {

bool operator==(StackId stack, std::integral auto number) {
    return stack == StackId(static_cast<std::uint64_t>(number));
}
inline std::ostream& operator<<(std::ostream& out, StackId stack) {
    return out << stack.number();
}

} // namespace umadvisor::ids

namespace umadvisor::test {

/// Collects records and writes them as a trace file. Ticks are nanoseconds (clock kind monotonic) unless
/// `clock` says otherwise.
class TraceBuilder {
public:
    std::uint32_t pid = 4242;
    trace::ClockKind clock = trace::ClockKind::monotonic;
    trace::ClockPair first{1'000, 1'000}, last{1'000'001'000, 1'000'001'000};
    bool closed = true;
    std::uint16_t major = trace::version_major, minor = trace::version_minor;
    std::uint64_t own_ticks = 0;
    std::uint64_t realtime_ns = 1'700'000'000'000'000'000;
    std::map<trace::DropReason, std::uint64_t> dropped;
    std::map<std::uint64_t, std::uint64_t> counters; ///< entry id -> calls
    bool sealed = true;                              ///< of chunks: with a checksum
    std::uint32_t header_bytes = trace::header_bytes, chunk_size = trace::chunk_bytes;
    std::uint32_t counters_offset = trace::counters_offset, counter_slots = trace::counter_slots;

    /// Small header and chunks, for tests that go through a file byte by byte.
    void make_small() {
        counters_offset = sizeof(trace::FileHeader);
        counter_slots = 16;
        header_bytes = counters_offset + counter_slots * 8;
        chunk_size = 4096;
    }

    /// Appends to the dictionary chunk, or to the event chunk of `thread`.
    template <class Record>
    TraceBuilder& add(const Record& record, std::uint32_t thread = 1);
    /// Appends bytes that are no record of ours.
    TraceBuilder& add_raw(const std::vector<std::uint8_t>& bytes, std::uint32_t thread = 1);
    /// The next record of this thread begins a new chunk.
    void next_chunk(std::uint32_t thread = 1);
    /// The same of definitions.
    void next_dictionary_chunk() { open_.erase({trace::ChunkKind::dictionary, 1}); }

    /// What stacks are made of. `parent`: the caller's frame; 0: none.
    TraceBuilder& module(std::uint64_t id, std::string_view path);
    TraceBuilder& frame(std::uint64_t id, std::uint64_t parent, std::uint64_t address, std::uint64_t module = 0,
                        std::uint64_t python = 0);
    TraceBuilder& python_code(std::uint64_t id, std::string_view file, std::string_view function);
    TraceBuilder& python_frame(std::uint64_t id, std::uint64_t parent, std::uint64_t code,
                               std::uint64_t instruction = 0, bool entered = false);

    std::vector<std::uint8_t> bytes() const;
    void write(const std::string& path) const;
    /// The path of a temporary file of this name with the trace.
    std::string written(const std::string& name) const;

private:
    struct Chunk {
        trace::ChunkKind kind;
        std::uint32_t thread, sequence;
        std::vector<std::uint8_t> body;
        std::uint64_t time = 0, address = 0, handle = 0; ///< what differences are taken against
    };
    Chunk& chunk(trace::ChunkKind kind, std::uint32_t thread);
    std::vector<std::uint8_t> file_header() const;
    std::vector<std::uint8_t> whole(const Chunk& chunk) const; ///< as it stands in the file

    std::vector<Chunk> chunks_;
    std::map<std::pair<trace::ChunkKind, std::uint32_t>, std::size_t> open_;
    std::map<std::pair<trace::ChunkKind, std::uint32_t>, std::uint32_t> sequences_;
};

/// A path under the test's temporary folder; the folder is removed at exit.
std::string temporary_path(const std::string& name);

/// Writes `bytes` and returns the path.
std::string temporary_file(const std::string& name, const std::vector<std::uint8_t>& bytes);

} // namespace umadvisor::test
