/// The bytes of a file of the symbol cache.
#pragma once

#include "analyzer/symbols/code_place.hpp"

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace umadvisor::symbols {

/// Places by address, without their module.
using KnownPlaces = std::unordered_map<std::uint64_t, std::vector<CodePlace>>;

std::string encode_places(const KnownPlaces& places);

/// Empty where the bytes are damaged or of another version. Takes memory in proportion to the bytes, whatever
/// they say: places share their texts.
KnownPlaces decode_places(std::string_view bytes);

} // namespace umadvisor::symbols
