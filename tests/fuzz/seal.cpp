#include "seal.hpp"

#include "trace/checksum.hpp"
#include "trace/layout.hpp"

#include <cstring>

namespace umadvisor::fuzz {
namespace {

std::uint64_t number_at(const std::vector<std::uint8_t>& bytes, std::size_t at) {
    std::uint64_t number = 0;
    std::memcpy(&number, bytes.data() + at, sizeof number);
    return number;
}

void put_checksum(std::vector<std::uint8_t>& bytes, std::size_t at, std::size_t begin, std::size_t end) {
    const std::uint64_t sum = trace::checksum(bytes.data() + begin, end - begin);
    std::memcpy(bytes.data() + at, &sum, sizeof sum);
}

/// What a packed trace is packed with, and the places of each module in it.
void seal_section(std::vector<std::uint8_t>& bytes, std::size_t end) {
    constexpr std::size_t trailer = 24, places_header = 40;
    if (end > bytes.size() || end < sizeof(trace::FileHeader) ||
        std::memcmp(bytes.data() + end - 8, "UMPACKED", 8) != 0 ||
        number_at(bytes, end - trailer) > end - trailer - sizeof(trace::FileHeader))
        return;
    const std::size_t content_end = end - trailer, begin = content_end - number_at(bytes, content_end);
    for (std::size_t at = begin; at + 8 + places_header <= content_end; ++at) {
        const std::size_t places = at + 8;
        const std::uint64_t length = number_at(bytes, at);
        if (std::memcmp(bytes.data() + places, "umsym1\0", 8) == 0 && length >= places_header &&
            length <= content_end - places)
            put_checksum(bytes, places + 16, places + places_header, places + length);
    }
    put_checksum(bytes, content_end + 8, begin, content_end);
}

} // namespace

void seal(std::vector<std::uint8_t>& bytes) {
    std::uint32_t header_bytes = 0, chunk_size = 0;
    if (bytes.size() < sizeof(trace::FileHeader))
        return;
    std::memcpy(&header_bytes, bytes.data() + offsetof(trace::FileHeader, header_bytes), 4);
    std::memcpy(&chunk_size, bytes.data() + offsetof(trace::FileHeader, chunk_size), 4);
    seal_section(bytes, header_bytes);
    if (chunk_size < sizeof(trace::ChunkHeader))
        return;
    for (std::size_t at = header_bytes; at + sizeof(trace::ChunkHeader) <= bytes.size(); at += chunk_size) {
        std::uint32_t committed = 0;
        std::memcpy(&committed, bytes.data() + at + offsetof(trace::ChunkHeader, committed), 4);
        const std::size_t body = at + sizeof(trace::ChunkHeader);
        if (committed > bytes.size() - body)
            continue;
        const std::uint64_t sum = trace::checksum(bytes.data() + body, committed);
        std::memcpy(bytes.data() + at + offsetof(trace::ChunkHeader, checksum), &sum, 8);
    }
}

} // namespace umadvisor::fuzz
