/// Which way a copy went.
#pragma once

#include "trace/copy_records.hpp"

#include <cstdint>
#include <string_view>

namespace umadvisor::facts {

enum class Direction : std::uint8_t { unknown, HtoD, DtoH, DtoD, HtoH, HtoA, AtoH, AtoD, DtoA, AtoA, PtoP };

/// "HtoD" and so on, as CUPTI names them; "unknown".
std::string_view name(Direction direction);
/// "host to device" and so on.
std::string_view words(Direction direction);

inline bool is_page_locked(trace::Memory memory) {
    return memory == trace::Memory::pinned || memory == trace::Memory::registered;
}
inline bool is_host_memory(trace::Memory memory) {
    return memory == trace::Memory::pageable || is_page_locked(memory);
}
inline bool is_device_memory(trace::Memory memory) {
    return memory == trace::Memory::device || memory == trace::Memory::array;
}

/// The direction follows from the entry point where its name says it (cuMemcpyHtoD), else from the memory of
/// both ends; managed memory then counts as the device's where cuMemcpy is free to work on it.
Direction direction_of(const trace::Copy& copy, std::string_view symbol);

} // namespace umadvisor::facts
