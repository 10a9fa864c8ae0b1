#include "trace_image.hpp"

#include "seal.hpp"
#include "trace_builder.hpp"

#include <algorithm>
#include <cstring>

namespace umadvisor::fuzz {
namespace {

template <class T>
T get(const std::uint8_t* from, std::size_t at) {
    T value;
    std::memcpy(&value, from + at, sizeof value);
    return value;
}

template <class T>
void put(std::uint8_t* to, std::size_t at, const T& value) {
    std::memcpy(to + at, &value, sizeof value);
}

} // namespace

#define HEADER(member) offsetof(trace::FileHeader, member)
#define CHUNK(member) offsetof(trace::ChunkHeader, member)

trace::ChunkKind ImageChunk::kind() const {
    return get<trace::ChunkKind>(header.data(), CHUNK(kind));
}

std::uint64_t ImageChunk::base_time() const {
    return get<std::uint64_t>(header.data(), CHUNK(base_time));
}

TraceImage::TraceImage()
    : TraceImage([] {
          test::TraceBuilder builder;
          builder.make_small();
          builder.chunk_size = 32 * 1024; // the longest text fits
          return builder.bytes();
      }()) {}

TraceImage::TraceImage(const Bytes& file) {
    const auto header_bytes = get<std::uint32_t>(file.data(), HEADER(header_bytes));
    const auto chunk_size = get<std::uint32_t>(file.data(), HEADER(chunk_size));
    header.assign(file.begin(),
                  file.begin() + static_cast<std::ptrdiff_t>(std::min<std::size_t>(header_bytes, file.size())));
    for (std::size_t at = header_bytes; at + sizeof(trace::ChunkHeader) <= file.size(); at += chunk_size) {
        ImageChunk& chunk = chunks.emplace_back();
        std::copy_n(file.data() + at, chunk.header.size(), chunk.header.begin());
        const std::size_t room = std::min(capacity(), file.size() - at - chunk.header.size());
        const std::uint8_t* const body = file.data() + at + chunk.header.size();
        chunk.body.assign(body, body + std::min<std::size_t>(
                                           room, get<std::uint32_t>(chunk.header.data(), CHUNK(committed))));
    }
}

std::optional<TraceImage> image_of(const Bytes& file) {
    if (file.size() < sizeof(trace::FileHeader))
        return std::nullopt;
    const auto begin = get<std::uint32_t>(file.data(), HEADER(header_bytes));
    const auto chunk = get<std::uint32_t>(file.data(), HEADER(chunk_size));
    const bool good = begin >= sizeof(trace::FileHeader) && begin <= file.size() &&
                      chunk > sizeof(trace::ChunkHeader) && chunk <= trace::chunk_bytes;
    return good ? std::optional<TraceImage>(file) : std::nullopt;
}

std::size_t TraceImage::capacity() const {
    return get<std::uint32_t>(header.data(), HEADER(chunk_size)) - sizeof(trace::ChunkHeader);
}

Bytes TraceImage::bytes() const {
    Bytes file = header;
    put(file.data(), HEADER(chunks), static_cast<std::uint32_t>(chunks.size()));
    for (const ImageChunk& chunk : chunks) {
        const std::size_t at = file.size(), body = at + chunk.header.size();
        file.resize(body + capacity());
        std::copy(chunk.header.begin(), chunk.header.end(), file.data() + at);
        const std::size_t committed = std::min(chunk.body.size(), capacity());
        std::copy_n(chunk.body.begin(), committed, file.data() + body);
        put(file.data() + at, CHUNK(committed), static_cast<std::uint32_t>(committed));
    }
    seal(file);
    return file;
}

TraceImage::Open& TraceImage::of_thread(std::uint32_t thread) {
    const auto found = std::ranges::find(threads_, thread, &Open::thread);
    return found != threads_.end() ? *found : threads_.emplace_back(Open{thread, 0, 0, {}, false});
}

Bytes& TraceImage::begin(Open& open, trace::ChunkKind kind, std::uint32_t thread) {
    if (!open.begun) {
        open.begun = true;
        open.chunk = chunks.size();
        ImageChunk& chunk = chunks.emplace_back();
        put(chunk.header.data(), CHUNK(magic), trace::chunk_magic);
        put(chunk.header.data(), CHUNK(kind), kind);
        put(chunk.header.data(), CHUNK(state), trace::ChunkState::sealed);
        put(chunk.header.data(), CHUNK(thread), thread);
        put(chunk.header.data(), CHUNK(sequence), open.sequence++);
    }
    return chunks[open.chunk].body;
}

} // namespace umadvisor::fuzz
