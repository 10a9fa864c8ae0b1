#include "analyzer/reader/header.hpp"

#include "analyzer/reader/error.hpp"
#include "analyzer/reader/field.hpp"
#include "analyzer/reader/packed_section.hpp"
#include "analyzer/reader/source.hpp"
#include "trace/segment.hpp"

#include <cstddef>
#include <cstring>

namespace umadvisor::reader {
namespace {

constexpr std::uint32_t smallest_chunk = 4096;
constexpr std::uint32_t largest_chunk = 16u << 20; ///< what a reader is ready to hold for one thread
/// The driver has some 640 entry points. A file's length is no bound: one with a hole has any.
constexpr std::uint32_t most_counters = 1u << 16;

#define FIELD(type, member) field<type>(bytes, offsetof(trace::FileHeader, member))

void check_identity(const Source& source, const BytesOf<trace::FileHeader>& bytes, std::size_t got) {
    const std::string& path = source.path();
    if (got == 0)
        throw Error(path +
                    ": is empty; the program ended before umadvisor wrote anything, or the disk was full");
    if (std::memcmp(bytes.data(), trace::file_magic.data(), std::min(got, trace::file_magic.size())) != 0)
        throw Error(path + ": is not a umadvisor trace");
    if (got < bytes.size())
        throw Error(path + ": is cut inside its header; nothing can be read from it");
    if (FIELD(std::uint32_t, endian) != trace::endian_mark)
        throw Error(path + ": was written with another byte order");
    const auto major = FIELD(std::uint16_t, major);
    if (major > trace::version_major)
        throw Error(fmt::format("{}: has format version {}, this umadvisor reads up to {}; use the umadvisor "
                                "that recorded it, or a newer one",
                                path, major, trace::version_major));
}

} // namespace

Header read_header(const Source& source) {
    BytesOf<trace::FileHeader> bytes{};
    const std::size_t got = source.read(0, bytes.data(), bytes.size());
    check_identity(source, bytes, got);

    Header header;
    header.major = FIELD(std::uint16_t, major);
    header.minor = FIELD(std::uint16_t, minor);
    header.header_bytes = FIELD(std::uint32_t, header_bytes);
    header.chunk_size = FIELD(std::uint32_t, chunk_size);
    header.pid = FIELD(std::uint32_t, pid);
    header.chunks = FIELD(std::uint32_t, chunks);
    header.clock = FIELD(trace::ClockKind, clock);
    header.closed = FIELD(std::uint8_t, state) == static_cast<std::uint8_t>(trace::FileState::closed);
    header.late = FIELD(std::uint16_t, late) != 0;
    header.realtime_ns = FIELD(std::uint64_t, realtime_ns);
    header.first = FIELD(trace::ClockPair, first);
    header.last = {FIELD(std::uint64_t, last_ticks), FIELD(std::uint64_t, last_monotonic_ns)};
    for (std::size_t i = 0; i < header.dropped.size(); ++i)
        header.dropped[i] = field<std::uint64_t>(bytes, offsetof(trace::FileHeader, dropped) + i * 8);
    header.own_ticks = FIELD(std::uint64_t, own_ticks);
    header.stacks_cut = FIELD(std::uint32_t, stacks_cut);

    if (header.late && header.header_bytes >= trace::first_lap_offset + sizeof header.first_lap)
        source.read(trace::first_lap_offset, &header.first_lap, sizeof header.first_lap);

    const auto offset = FIELD(std::uint32_t, counters_offset);
    const auto slots = FIELD(std::uint32_t, counters);
    if (header.header_bytes < bytes.size() || header.header_bytes > largest_header ||
        header.chunk_size < smallest_chunk || header.chunk_size > largest_chunk || slots > most_counters)
        throw Error(source.path() + ": is damaged: its header gives impossible sizes");

    if (offset >= bytes.size() && offset < header.header_bytes && slots <= (header.header_bytes - offset) / 8) {
        // header_bytes may lie too: never more than the file holds.
        const std::uint64_t there = source.size() > offset ? (source.size() - offset) / 8 : 0;
        header.counters.resize(std::min<std::uint64_t>(slots, there));
        const std::size_t read = source.read(offset, header.counters.data(), header.counters.size() * 8);
        header.counters.resize(read / 8);
    }
    return header;
}

} // namespace umadvisor::reader
