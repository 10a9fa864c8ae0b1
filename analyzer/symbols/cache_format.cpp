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

/// The file: this, then for each address: address, number of places; for each place: function and file as
/// numbers of texts, line, inlined; then the texts: length and bytes. All numbers are 64 bits, little-endian.
struct Header {
    std::uint64_t magic, version, checksum; ///< of what follows the header
    std::uint64_t addresses, texts;
};

std::uint64_t checksum_of(std::string_view body) {
    return trace::checksum(reinterpret_cast<const std::uint8_t*>(body.data()), body.size());
}

} // namespace

std::string encode_places(const KnownPlaces& known) {
    std::string body, texts;
    std::unordered_map<std::string_view, std::uint64_t> numbers;
    const auto number_of = [&](const std::string& text) {
        const auto [entry, fresh] = numbers.try_emplace(text, numbers.size());
        if (fresh)
            append_text(texts, text);
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
    struct Reference {
        std::vector<CodePlace>* places;
        std::size_t index;
        std::uint64_t function, file;
    };
    KnownPlaces places;
    std::vector<Reference> references;
    ByteInput input(body);
    for (std::uint64_t i = 0; i < header.addresses && input.good(); ++i) {
        const std::uint64_t address = input.number(), count = input.number();
        std::vector<CodePlace>& here = places[address];
        for (std::uint64_t k = 0; k < count && input.good(); ++k) {
            references.push_back({&here, here.size(), input.number(), input.number()});
            CodePlace& place = here.emplace_back();
            place.offset = address;
            const std::uint64_t line = input.number();
            place.line = line <= std::numeric_limits<int>::max() ? static_cast<int>(line) : 0;
            place.inlined = input.number() != 0;
        }
    }
    std::vector<std::string_view> texts;
    for (std::uint64_t i = 0; i < header.texts && input.good(); ++i)
        texts.push_back(input.text());
    if (!input.good())
        return {};
    for (const auto& [list, index, function, file] : references) {
        if (function >= texts.size() || file >= texts.size())
            return {};
        (*list)[index].function = texts[function];
        (*list)[index].file = texts[file];
    }
    std::erase_if(places, [](const auto& entry) { return entry.second.empty(); });
    return places;
}

} // namespace umadvisor::symbols
