#include "analyzer/reader/segment.hpp"

#include "trace/attached_segment.hpp"

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstdio>
#include <cstring>
#include <fcntl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>
#include <utility>

namespace umadvisor::reader {
namespace {

/// The committed bytes of the chunk in a slot, as an open chunk. Empty: there is none, or it has moved to the
/// file meanwhile.
Piece chunk_in(const trace::AttachedSegment& segment, std::uint32_t slot) {
    trace::SlotOwner& owner = segment.owner_of(slot);
    trace::ChunkHeader& chunk = segment.chunk_in(slot);
    const std::uint32_t number = owner.load(std::memory_order_acquire);
    if (number == 0 || __atomic_load_n(&chunk.magic, __ATOMIC_ACQUIRE) != trace::chunk_magic)
        return {};
    const std::uint32_t committed = chunk.committed.load(std::memory_order_acquire);
    if (committed > trace::chunk_capacity)
        return {};
    trace::ChunkHeader open{};
    open.magic = trace::chunk_magic;
    open.kind = chunk.kind;
    open.thread = chunk.thread;
    open.sequence = chunk.sequence;
    open.base_time = chunk.base_time;
    open.committed.store(committed, std::memory_order_relaxed);
    Piece piece;
    piece.offset = trace::header_bytes + std::uint64_t{number - 1} * trace::chunk_bytes;
    piece.bytes.resize(sizeof open + committed);
    std::memcpy(piece.bytes.data(), &open, sizeof open);
    std::memcpy(piece.bytes.data() + sizeof open, &chunk + 1, committed);
    std::atomic_thread_fence(std::memory_order_acquire); // the copy is made before the second look
    return owner.load(std::memory_order_relaxed) == number ? piece : Piece{};
}

/// Reads the header first: a chunk that it counts is then in a slot, or in the file, which is read later.
std::vector<Piece> pieces_of(const trace::AttachedSegment& segment) {
    std::vector<Piece> pieces(1);
    const std::uint8_t* const header = segment.header_image();
    pieces.front().bytes.assign(header, header + trace::header_bytes);
    std::memset(pieces.front().bytes.data() + trace::segment_name_offset, 0, sizeof(trace::SegmentName));
    for (std::uint32_t slot = 0; slot < segment.head().slots; ++slot)
        if (Piece piece = chunk_in(segment, slot); !piece.bytes.empty())
            pieces.push_back(std::move(piece));
    std::sort(pieces.begin(), pieces.end(), [](const Piece& a, const Piece& b) { return a.offset < b.offset; });
    return pieces;
}

bool write(int file, const Piece& piece) {
    std::size_t done = 0;
    while (done < piece.bytes.size()) {
        const ssize_t put = ::pwrite(file, piece.bytes.data() + done, piece.bytes.size() - done,
                                     static_cast<off_t>(piece.offset + done));
        if (put <= 0 && !(put < 0 && errno == EINTR))
            return false;
        done += put > 0 ? static_cast<std::size_t>(put) : 0;
    }
    return true;
}

/// Writes the header last: after that the file no longer needs the segment.
bool write(int file, const std::vector<Piece>& pieces) {
    const std::uint64_t end = pieces.back().offset + pieces.back().bytes.size();
    rlimit limit{}; // beyond it comes SIGXFSZ (setrlimit(2))
    if (::getrlimit(RLIMIT_FSIZE, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY && end > limit.rlim_cur)
        return false;
    return std::all_of(pieces.begin() + 1, pieces.end(),
                       [&](const Piece& piece) { return write(file, piece); }) &&
           write(file, pieces.front());
}

/// Opens the same file for writing; -1: it cannot be written.
int writable(int file) {
    char path[64];
    std::snprintf(path, sizeof path, "/proc/self/fd/%d", file);
    return ::open(path, O_WRONLY | O_CLOEXEC);
}

} // namespace

Unwritten take_unwritten(int file) {
    Unwritten unwritten;
    struct stat state {};
    const trace::SegmentName name = trace::segment_name_in(file);
    if (name.bytes == 0 || ::fstat(file, &state) != 0)
        return unwritten;
    const trace::AttachedSegment segment(name, state);
    if (!segment) {
        // Another process may have written it to the file between our two looks.
        unwritten.lost = trace::segment_name_in(file).bytes != 0;
        return unwritten;
    }
    // The file's size is asked after what it should be: the writer lets the file grow first.
    const std::uint64_t least = segment.head().file_bytes.load(std::memory_order_acquire);
    if (::fstat(file, &state) != 0 || static_cast<std::uint64_t>(state.st_size) < least) {
        // The file was cut: what came last does not make it a trace again.
        if (segment.writer_is_gone())
            segment.remove();
        unwritten.lost = true;
        return unwritten;
    }
    unwritten.pieces = pieces_of(segment);
    if (!segment.writer_is_gone())
        return unwritten;
    const int to = writable(file);
    if (to < 0)
        return unwritten;
    if (write(to, unwritten.pieces)) {
        segment.remove();
        unwritten.pieces.clear();
    }
    ::close(to);
    return unwritten;
}

} // namespace umadvisor::reader
