/// What a packed trace knows by itself.
#pragma once

#include "analyzer/symbols/cache_format.hpp"

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <utility>

namespace umadvisor::reader {
class Source;
}

namespace umadvisor::symbols {

struct PackedSymbols {
    std::map<std::pair<std::string, std::string>, KnownPlaces> modules; ///< by path and raw build-id
    std::map<std::pair<std::string, int>, std::string> source_lines;    ///< by file and line
    bool damaged = false; ///< there was more, but it cannot be read

    bool empty() const { return modules.empty() && source_lines.empty(); }
    /// nullptr: not packed. `address`: virtual, in the module.
    const std::vector<CodePlace>* find(std::string_view path, std::string_view build_id,
                                       std::uint64_t address) const;
    /// nullptr: not packed.
    const std::string* source_line(const std::string& file, int line) const;
};

std::string encode_packed(const PackedSymbols& packed);

/// Decodes what is readable. Uses memory in proportion to the bytes, whatever they contain.
PackedSymbols decode_packed(std::string_view bytes);

/// Of a trace; empty where it is not packed. Throws reader::Error when the device fails.
PackedSymbols packed_symbols(const reader::Source& trace);

} // namespace umadvisor::symbols
