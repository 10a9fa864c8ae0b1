#include "analyzer/symbols/cache_format.hpp"

#include "trace/checksum.hpp"

#include <algorithm>
#include <bit>
#include <cstring>
#include <limits>

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
static_assert(std::endian::native == std::endian::little);

void append(std::string& out, std::uint64_t number) {
    out.append(reinterpret_cast<const char*>(&number), sizeof number);
}

class Input {
public:
    explicit Input(std::string_view bytes) : bytes_(bytes) {}
    std::uint64_t number() {
        std::uint64_t value = 0;
        if (bytes_.size() < sizeof value)
            good_ = false;
        else
            std::memcpy(&value, bytes_.data(), sizeof value);
        bytes_.remove_prefix(std::min(bytes_.size(), sizeof value));
        return value;
    }
    std::string_view text(std::uint64_t length) {
        good_ = good_ && length <= bytes_.size();
        const std::string_view taken = bytes_.substr(0, good_ ? length : 0);
        bytes_.remove_prefix(taken.size());
        return taken;
    }
    bool good() const { return good_; }

private:
    std::string_view bytes_;
    bool good_ = true;
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
        if (fresh) {
            append(texts, text.size());
            texts += text;
        }
        return entry->second;
    };
    for (const auto& [address, places] : known) {
        append(body, address);
        append(body, places.size());
        for (const CodePlace& place : places) {
            append(body, number_of(place.function));
            append(body, number_of(place.file));
            append(body, static_cast<std::uint64_t>(place.line));
            append(body, place.inlined ? 1 : 0);
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
    Input input(body);
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
        texts.push_back(input.text(input.number()));
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
