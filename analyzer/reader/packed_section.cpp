#include "analyzer/reader/packed_section.hpp"

#include "analyzer/reader/error.hpp"
#include "analyzer/reader/header.hpp"
#include "analyzer/reader/source.hpp"
#include "trace/checksum.hpp"

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstring>

namespace umadvisor::reader {
namespace {

/// Stands right before the first chunk; the content stands before it.
struct Trailer {
    std::uint64_t length; ///< of the content
    std::uint64_t checksum;
    std::uint64_t magic;
};
constexpr std::uint64_t magic = 0x44454b4341504d55; ///< "UMPACKED"
static_assert(std::endian::native == std::endian::little);

std::uint64_t checksum_of(std::string_view bytes) {
    return trace::checksum(reinterpret_cast<const std::uint8_t*>(bytes.data()), bytes.size());
}

/// Where a section stands, if there is one.
struct Place {
    std::uint64_t begin = 0, end = 0; ///< end: of the header, and of the trailer
    Trailer trailer{};
    bool there = false, possible = false;
};

Place place_in(const Source& source) {
    Place place;
    place.begin = place.end = read_header(source).header_bytes;
    Trailer& trailer = place.trailer;
    if (place.end > source.size() ||
        source.read(place.end - sizeof trailer, &trailer, sizeof trailer) < sizeof trailer)
        return place;
    place.there = trailer.magic == magic;
    place.possible = place.there && trailer.length <= largest_section &&
                     trailer.length <= place.end - sizeof(trace::FileHeader) - sizeof trailer;
    if (place.possible)
        place.begin = place.end - sizeof trailer - trailer.length;
    return place;
}

void copy(const Source& source, std::uint64_t from, std::uint64_t to,
          const std::function<void(std::string_view)>& write) {
    std::string piece;
    while (from < to) {
        piece.resize(static_cast<std::size_t>(std::min<std::uint64_t>(to - from, 1 << 20)));
        const std::size_t got = source.read(from, piece.data(), piece.size());
        write(std::string_view(piece).substr(0, got));
        if (got < piece.size())
            return; // it was cut meanwhile
        from += got;
    }
}

} // namespace

PackedSection read_packed_section(const Source& source) {
    const Place place = place_in(source);
    PackedSection section;
    section.damaged = place.there;
    if (!place.possible)
        return section;
    section.content.resize(static_cast<std::size_t>(place.trailer.length));
    const std::size_t got = source.read(place.begin, section.content.data(), section.content.size());
    section.damaged = got < section.content.size() || checksum_of(section.content) != place.trailer.checksum;
    if (section.damaged)
        section.content.clear();
    return section;
}

void write_with_section(const Source& source, std::string_view content,
                        const std::function<void(std::string_view)>& write) {
    const Place place = place_in(source);
    if (source.size() < place.end || (content.empty() && !place.possible)) // cut before the first chunk
        return copy(source, 0, source.size(), write);
    std::string section(content);
    Trailer trailer{};
    const std::uint64_t end = (place.begin + section.size() + sizeof trailer + 4095) / 4096 * 4096;
    section.resize(static_cast<std::size_t>(end - place.begin - sizeof trailer));
    if (section.size() > largest_section || end > largest_header)
        throw Error(source.path() + ": has too many source lines to be packed");
    trailer = {section.size(), checksum_of(section), magic};
    section.append(reinterpret_cast<const char*>(&trailer), sizeof trailer);

    std::string header(static_cast<std::size_t>(place.begin), '\0');
    header.resize(source.read(0, header.data(), header.size()));
    const auto header_bytes = static_cast<std::uint32_t>(end);
    std::memcpy(header.data() + offsetof(trace::FileHeader, header_bytes), &header_bytes, sizeof header_bytes);
    write(header);
    write(section);
    copy(source, place.end, source.size(), write);
}

} // namespace umadvisor::reader
