#include "analyzer/reader/added_chunk.hpp"

#include "analyzer/reader/error.hpp"
#include "analyzer/reader/header.hpp"
#include "analyzer/reader/source.hpp"
#include "trace/attached_segment.hpp"
#include "trace/checksum.hpp"
#include "trace/layout.hpp"

#include <cerrno>
#include <csignal>
#include <cstddef>
#include <cstring>
#include <fcntl.h>
#include <unistd.h>

namespace umadvisor::reader {
namespace {

/// A file to be written at given places.
class Written {
public:
    explicit Written(const Source& source)
        : shown_(source.path()), file_(::open(source.opened().c_str(), O_RDWR | O_CLOEXEC | O_NOFOLLOW)) {
        if (file_ < 0)
            fail(errno);
    }
    ~Written() { ::close(file_); }
    Written(const Written&) = delete;
    Written& operator=(const Written&) = delete;

    int descriptor() const { return file_; }
    void write(std::uint64_t offset, const void* bytes, std::size_t count) const {
        for (std::size_t done = 0; done < count;) {
            const ssize_t put = ::pwrite(file_, static_cast<const char*>(bytes) + done, count - done,
                                         static_cast<off_t>(offset + done));
            if (put <= 0 && !(put < 0 && errno == EINTR))
                fail(put < 0 ? errno : ENOSPC);
            done += put > 0 ? static_cast<std::size_t>(put) : 0;
        }
    }

private:
    [[noreturn]] void fail(int error) const { throw Error(shown_ + ": " + std::strerror(error)); }

    std::string shown_;
    int file_;
};

/// Whether the trace's program still runs: its next chunk would have the same place. The file of a running
/// program names a segment or, if it could get no segment, is not closed.
bool is_being_written(const Written& file, const Header& header) {
    return trace::segment_name_in(file.descriptor()).bytes != 0 ||
           (!header.closed && (::kill(static_cast<pid_t>(header.pid), 0) == 0 || errno != ESRCH));
}

std::vector<std::uint8_t> chunk_of(const std::vector<std::uint8_t>& records) {
    trace::ChunkHeader header{};
    header.magic = trace::chunk_magic;
    header.kind = trace::ChunkKind::dictionary;
    header.state = trace::ChunkState::sealed;
    header.committed = static_cast<std::uint32_t>(records.size());
    header.checksum = trace::checksum(records.data(), records.size());
    std::vector<std::uint8_t> chunk(sizeof header + records.size());
    std::memcpy(chunk.data(), &header, sizeof header);
    std::memcpy(chunk.data() + sizeof header, records.data(), records.size());
    return chunk;
}

} // namespace

void add_definitions(const std::string& path, const std::vector<std::uint8_t>& records) {
    const Source source(path); // writes what its program has left in memory
    const Header header = read_header(source);
    const Written file(source);
    if (is_being_written(file, header))
        throw Error(source.path() + ": its program still runs, or its end is lost");
    const std::uint64_t end = header.header_bytes + std::uint64_t{header.chunks} * header.chunk_size;
    const std::vector<std::uint8_t> chunk = chunk_of(records);
    // A chunk behind a gap would hide that there is one.
    if (source.size() < end)
        throw Error(source.path() + ": was cut, or its program still runs");
    if (chunk.size() > header.chunk_size || header.chunks == ~std::uint32_t{0})
        throw Error(source.path() + ": has no room for more");
    file.write(end, chunk.data(), chunk.size());
    const std::uint32_t chunks = header.chunks + 1;
    file.write(offsetof(trace::FileHeader, chunks), &chunks, sizeof chunks);
}

} // namespace umadvisor::reader
