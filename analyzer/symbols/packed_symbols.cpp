#include "analyzer/symbols/packed_symbols.hpp"

#include "analyzer/reader/packed_section.hpp"

#include <cstring>
#include <limits>

namespace umadvisor::symbols {
namespace {

// Numbers are 64 bits, little-endian; a text is its length and its bytes. The number of modules; for each its
// path, its build-id and, as a text, what the symbol cache would keep of it. Then the number of source lines;
// for each its file, number and text.

void append(std::string& out, std::uint64_t number) {
    out.append(reinterpret_cast<const char*>(&number), sizeof number);
}

void append(std::string& out, std::string_view text) {
    append(out, std::uint64_t{text.size()});
    out += text;
}

class Input {
public:
    explicit Input(std::string_view bytes) : bytes_(bytes) {}
    std::uint64_t number() {
        std::uint64_t value = 0;
        good_ = good_ && bytes_.size() >= sizeof value;
        if (good_) {
            std::memcpy(&value, bytes_.data(), sizeof value);
            bytes_.remove_prefix(sizeof value);
        }
        return value;
    }
    std::string_view text() {
        const std::uint64_t length = number();
        good_ = good_ && length <= bytes_.size();
        const std::string_view taken = bytes_.substr(0, good_ ? static_cast<std::size_t>(length) : 0);
        bytes_.remove_prefix(taken.size());
        return taken;
    }
    bool good() const { return good_; }

private:
    std::string_view bytes_;
    bool good_ = true;
};

} // namespace

const std::vector<CodePlace>* PackedSymbols::find(std::string_view path, std::string_view build_id,
                                                  std::uint64_t address) const {
    if (modules.empty())
        return nullptr;
    const auto module = modules.find({std::string(path), std::string(build_id)});
    if (module == modules.end())
        return nullptr;
    const auto found = module->second.find(address);
    return found == module->second.end() ? nullptr : &found->second;
}

const std::string* PackedSymbols::source_line(const std::string& file, int line) const {
    const auto found = source_lines.find({file, line});
    return found == source_lines.end() ? nullptr : &found->second;
}

std::string encode_packed(const PackedSymbols& packed) {
    std::string bytes;
    append(bytes, std::uint64_t{packed.modules.size()});
    for (const auto& [module, places] : packed.modules) {
        append(bytes, module.first);
        append(bytes, module.second);
        append(bytes, encode_places(places));
    }
    append(bytes, std::uint64_t{packed.source_lines.size()});
    for (const auto& [place, text] : packed.source_lines) {
        append(bytes, place.first);
        append(bytes, static_cast<std::uint64_t>(place.second));
        append(bytes, text);
    }
    return bytes;
}

PackedSymbols decode_packed(std::string_view bytes) {
    PackedSymbols packed;
    Input input(bytes);
    for (std::uint64_t left = input.number(); left > 0 && input.good(); --left) {
        const std::string_view path = input.text(), build_id = input.text(), places = input.text();
        if (!input.good())
            break;
        KnownPlaces known = decode_places(places);
        packed.damaged = packed.damaged || known.empty();
        packed.modules[{std::string(path), std::string(build_id)}].merge(known);
    }
    for (std::uint64_t left = input.number(); left > 0 && input.good(); --left) {
        const std::string_view file = input.text();
        const std::uint64_t line = input.number();
        const std::string_view text = input.text();
        if (input.good() && line <= std::numeric_limits<int>::max())
            packed.source_lines.try_emplace({std::string(file), static_cast<int>(line)}, text);
    }
    packed.damaged = packed.damaged || !input.good();
    return packed;
}

PackedSymbols packed_symbols(const reader::Source& trace) {
    const reader::PackedSection section = reader::read_packed_section(trace);
    if (section.content.empty()) {
        PackedSymbols none;
        none.damaged = section.damaged;
        return none;
    }
    return decode_packed(section.content);
}

} // namespace umadvisor::symbols
