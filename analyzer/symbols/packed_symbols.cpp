#include "analyzer/symbols/packed_symbols.hpp"

#include "analyzer/reader/packed_section.hpp"
#include "analyzer/symbols/byte_input.hpp"

#include <limits>

namespace umadvisor::symbols {

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

// Numbers are 64 bits, little-endian; a text is its length and its bytes. The number of modules; for each its
// path, its build-id and, as a text, what the symbol cache would keep of it. Then the number of source lines;
// for each its file, number and text.

std::string encode_packed(const PackedSymbols& packed) {
    std::string bytes;
    append_number(bytes, packed.modules.size());
    for (const auto& [module, places] : packed.modules) {
        append_text(bytes, module.first);
        append_text(bytes, module.second);
        append_text(bytes, encode_places(places));
    }
    append_number(bytes, packed.source_lines.size());
    for (const auto& [place, text] : packed.source_lines) {
        append_text(bytes, place.first);
        append_number(bytes, static_cast<std::uint64_t>(place.second));
        append_text(bytes, text);
    }
    return bytes;
}

PackedSymbols decode_packed(std::string_view bytes) {
    PackedSymbols packed;
    ByteInput input(bytes);
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
