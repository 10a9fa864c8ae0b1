#pragma once

namespace simcuda {

/// One number for each exported entry point, from the one list.
enum class Entry : unsigned {
#define API_UNDECLARED(symbol)
#define API(symbol, handling) symbol,
#include "interposer/driver_api.def"
    count
};
inline constexpr unsigned entry_count = static_cast<unsigned>(Entry::count);

/// The exported name of an entry point.
const char* entry_name(unsigned entry);

} // namespace simcuda
