/// The driver's entry points as types: one enumerator and one trait for each line of driver_api.def.
#pragma once

// With this, cuda.h declares every exported symbol under its own name instead of renaming the newest.
#define __CUDA_API_VERSION_INTERNAL
#include <cuda.h>
#include <cudaProfiler.h>

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace umadvisor::attach {

enum class Entry : std::uint16_t {
#define API(symbol, handling) symbol,
#include "interposer/driver_api.def"
    count_
};

inline constexpr std::size_t entry_count = static_cast<std::size_t>(Entry::count_);

constexpr std::size_t index(Entry entry) {
    return static_cast<std::size_t>(entry);
}

inline constexpr std::string_view entry_names[] = {
#define API(symbol, handling) #symbol,
#include "interposer/driver_api.def"
};

constexpr std::string_view name(Entry entry) {
    return entry_names[index(entry)];
}

/// Takes the stream 0 for the calling thread's own default stream (CUDA driver API, "Stream synchronization
/// behavior").
constexpr bool uses_per_thread_stream(Entry entry) {
    return name(entry).ends_with("_ptsz") || name(entry).ends_with("_ptds");
}

/// Where nothing more is known, the entry is counted, whatever its signature.
template <Entry>
struct EntryTraits {
    using Function = void (*)();
};

#define API(symbol, handling)                                                                                  \
    template <>                                                                                                \
    struct EntryTraits<Entry::symbol> {                                                                        \
        using Function = decltype(&::symbol);                                                                  \
    };
#define API_UNDECLARED(symbol)
#define API_NEWER(symbol, version, handling) // in newer_entries.hpp
#include "interposer/driver_api.def"

} // namespace umadvisor::attach

#include "interposer/attach/newer_entries.hpp"
