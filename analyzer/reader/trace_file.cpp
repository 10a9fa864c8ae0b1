#include "analyzer/reader/trace_file.hpp"

#include "analyzer/reader/field.hpp"
#include "trace/checksum.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstring>
#include <map>
#include <utility>

namespace umadvisor::reader {
namespace {

bool known(trace::ChunkKind kind) {
    return kind == trace::ChunkKind::event || kind == trace::ChunkKind::dictionary ||
           kind == trace::ChunkKind::summary || kind == trace::ChunkKind::state;
}

ChunkInfo chunk_at(std::uint64_t offset, const BytesOf<trace::ChunkHeader>& bytes) {
    using H = trace::ChunkHeader;
    ChunkInfo chunk;
    chunk.offset = offset;
    chunk.kind = field<trace::ChunkKind>(bytes, offsetof(H, kind));
    chunk.sealed =
        field<std::uint8_t>(bytes, offsetof(H, state)) == static_cast<std::uint8_t>(trace::ChunkState::sealed);
    chunk.thread = field<std::uint32_t>(bytes, offsetof(H, thread));
    chunk.sequence = field<std::uint32_t>(bytes, offsetof(H, sequence));
    chunk.lap = field<std::uint32_t>(bytes, offsetof(H, lap));
    chunk.base_time = field<std::uint64_t>(bytes, offsetof(H, base_time));
    chunk.committed = field<std::uint32_t>(bytes, offsetof(H, committed));
    chunk.checksum = field<std::uint64_t>(bytes, offsetof(H, checksum));
    return chunk;
}

} // namespace

TraceFile::TraceFile(const std::string& path) : source_(path), header_(read_header(source_)) {
    completeness_.closed = header_.closed;
    completeness_.end_lost = source_.end_lost();
    find_chunks();
    if (header_.first_lap != 0)
        choose_laps();
    find_gaps();
    read_count.found.fetch_add(chunks_.size(), std::memory_order_relaxed);
}

void TraceFile::find_chunks() {
    const std::uint64_t size = source_.size();
    completeness_.header_cut = size < header_.header_bytes;
    for (std::uint64_t i = 0; i < header_.chunks; ++i) {
        const std::uint64_t offset = header_.header_bytes + i * header_.chunk_size;
        if (offset + sizeof(trace::ChunkHeader) > size) {
            completeness_.chunks_missing = header_.chunks - i;
            break;
        }
        BytesOf<trace::ChunkHeader> bytes{};
        if (source_.read(offset, bytes.data(), bytes.size()) < bytes.size()) {
            completeness_.chunks_missing = header_.chunks - i;
            break;
        }
        const auto magic = field<std::uint32_t>(bytes, 0);
        if (magic == 0)
            continue; // handed out, not begun
        const ChunkInfo chunk = chunk_at(offset, bytes);
        if (magic != trace::chunk_magic || chunk.committed > header_.chunk_size - sizeof(trace::ChunkHeader))
            ++completeness_.chunks_damaged;
        else if (!known(chunk.kind))
            ++completeness_.chunks_unknown;
        else
            chunks_.push_back(chunk);
    }
}

/// Leaves the laps of a ring that are whole, which begin with what was alive at the start of the first of them.
void TraceFile::choose_laps() {
    std::uint32_t first = UINT32_MAX;
    for (const ChunkInfo& chunk : chunks_)
        if (chunk.kind == trace::ChunkKind::state && chunk.lap >= header_.first_lap)
            first = std::min(first, chunk.lap);
    if (first == UINT32_MAX) { // what was alive is lost
        first = static_cast<std::uint32_t>(std::min<std::uint64_t>(header_.first_lap, UINT32_MAX));
        ++completeness_.chunks_damaged;
    }
    std::erase_if(chunks_, [first](const ChunkInfo& chunk) {
        return chunk.lap != 0 &&
               (chunk.kind == trace::ChunkKind::state ? chunk.lap != first : chunk.lap < first);
    });
    // Places in the file are used again: their order says nothing.
    std::stable_sort(chunks_.begin(), chunks_.end(),
                     [](const ChunkInfo& a, const ChunkInfo& b) { return a.base_time < b.base_time; });
}

void TraceFile::find_gaps() {
    // The kernel gives thread ids out again; a sequence that starts from zero is another thread.
    std::map<std::pair<std::uint32_t, trace::ChunkKind>, std::uint32_t> next;
    for (const ChunkInfo& chunk : chunks_) {
        // Threads count the chunks of all recordings of their process.
        const auto [at, is_first] = next.try_emplace({chunk.thread, chunk.kind}, 0);
        std::uint32_t& expected = at->second;
        if (is_first && header_.late)
            expected = chunk.sequence;
        if (chunk.sequence > expected)
            completeness_.sequences_missing += chunk.sequence - expected;
        expected = chunk.sequence + 1;
    }
    // Damaged and missing chunks are counted where they were found; the gap they leave is the same loss.
    const std::uint64_t counted = completeness_.chunks_damaged + completeness_.chunks_missing;
    completeness_.sequences_missing -= std::min(completeness_.sequences_missing, counted);
}

ReadCount read_count;

bool TraceFile::load(const ChunkInfo& chunk, std::vector<std::uint8_t>& bytes) {
    read_count.read.fetch_add(1, std::memory_order_relaxed);
    const std::uint64_t offset = chunk.offset + sizeof(trace::ChunkHeader);
    const std::uint64_t there = source_.size() > offset ? source_.size() - offset : 0;
    bytes.resize(static_cast<std::size_t>(std::min<std::uint64_t>(chunk.committed, there)));
    const std::size_t got = source_.read(offset, bytes.data(), bytes.size());
    bytes.resize(got);
    if (got < chunk.committed) {
        ++completeness_.chunks_cut; // the checksum covers missing bytes: the records are read unchecked
        return true;
    }
    if (chunk.sealed && trace::checksum(bytes.data(), bytes.size()) != chunk.checksum) {
        ++completeness_.chunks_damaged;
        bytes.clear();
        return false;
    }
    return true;
}

} // namespace umadvisor::reader
