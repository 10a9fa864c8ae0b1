#include "analyzer/symbols/cache_format.hpp"

#include "analyzer/symbols/byte_input.hpp"
#include "trace/checksum.hpp"

#include <cstring>
#include <limits>
#include <map>

namespace umadvisor::symbols {
namespace {

/// To be raised when the layout changes, or what we make of debug information. Packed traces hold it, too
/// (FORMAT.md): those of all versions stay readable.
constexpr std::uint64_t version = 1;
constexpr std::uint64_t magic = 0x316d79736d75; ///< "umsym1"
constexpr std::size_t most_places = 128;        ///< of an address; DwarfScopes finds no more than 66

/// The file: this, then for each address: address, number of places; for each place: function and file as
/// numbers of texts, line, inlined; then the texts: length and bytes. All numbers are 64 bits, little-endian.
struct Header {
    std::uint64_t magic, version, checksum; ///< of what follows the header
    std::uint64_t addresses, texts;
};

std::uint64_t checksum_of(std::string_view body) {
    return trace::checksum(reinterpret_cast<const std::uint8_t*>(body.data()), body.size());
}

/// Up to the texts.
void skip_places(ByteInput& input, std::uint64_t addresses) {
    constexpr std::uint64_t place_bytes = 4 * sizeof(std::uint64_t);
    for (std::uint64_t i = 0; i < addresses && input.good(); ++i) {
        input.number(); // the address
        input.skip(input.number(), place_bytes);
    }
}

std::vector<SharedText> read_texts(ByteInput& input, std::uint64_t count) {
    std::vector<SharedText> texts;
    for (std::uint64_t i = 0; i < count && input.good(); ++i)
        texts.emplace_back(input.text().substr(0, longest_path));
    return texts;
}

} // namespace

std::string encode_places(const KnownPlaces& known) {
    std::string body, texts;
    std::unordered_map<std::string_view, std::uint64_t> numbers;
    const auto number_of = [&](const SharedText& text) {
        const auto [entry, fresh] = numbers.try_emplace(text.view(), numbers.size());
        if (fresh)
            append_text(texts, text.view());
        return entry->second;
    };
    std::map<std::uint64_t, const std::vector<CodePlace>*> in_order; // the same bytes for the same places
    for (const auto& [address, places] : known)
        in_order.emplace(address, &places);
    for (const auto& [address, places] : in_order) {
        append_number(body, address);
        append_number(body, places->size());
        for (const CodePlace& place : *places) {
            append_number(body, number_of(place.function));
            append_number(body, number_of(place.file));
            append_number(body, static_cast<std::uint64_t>(place.line));
            append_number(body, place.inlined ? 1 : 0);
        }
    }
    body += texts;
    const Header header{magic, version, checksum_of(body), known.size(), numbers.size()};
    return std::string(reinterpret_cast<const char*>(&header), sizeof header) + body;
}

KnownPlaces decode_places(std::string_view bytes) {
    Header header{};
    if (bytes.size() < sizeof header)
        return {};
    std::memcpy(&header, bytes.data(), sizeof header);
    const std::string_view body = bytes.substr(sizeof header);
    if (header.magic != magic || header.version != version || header.checksum != checksum_of(body) ||
        header.addresses > body.size() || header.texts > body.size())
        return {};
    // The texts stand last: what comes before is read twice.
    ByteInput places_before_texts(body);
    skip_places(places_before_texts, header.addresses);
    const std::vector<SharedText> texts = read_texts(places_before_texts, header.texts);
    if (!places_before_texts.good())
        return {};
    KnownPlaces places;
    ByteInput input(body);
    for (std::uint64_t i = 0; i < header.addresses && input.good(); ++i) {
        const std::uint64_t address = input.number(), count = input.number();
        std::vector<CodePlace>& here = places[address];
        for (std::uint64_t k = 0; k < count; ++k) {
            const std::uint64_t function = input.number(), file = input.number(), line = input.number();
            const bool inlined = input.number() != 0;
            if (function >= texts.size() || file >= texts.size())
                return {};
            if (here.size() == most_places)
                continue;
            CodePlace& place = here.emplace_back();
            place.function = texts[function];
            place.file = texts[file];
            place.line = line <= std::numeric_limits<int>::max() ? static_cast<int>(line) : 0;
            place.offset = address;
            place.inlined = inlined;
        }
    }
    std::erase_if(places, [](const auto& entry) { return entry.second.empty(); });
    return places;
}

} // namespace umadvisor::symbols
