/// Device memory that a library keeps for itself: no line of the program allocates it, and a setting decides
/// its size.
#pragma once

#include "analyzer/rules/profile.hpp"

#include <cstdint>
#include <string>
#include <string_view>

namespace umadvisor::rules {

struct LibraryMemory {
    std::string_view library; ///< as its makers call it
    std::string_view setting; ///< what changes how much it takes; empty: nothing that is documented
};

/// Of the object at this path; nullptr: it is none of CUDA's libraries.
const LibraryMemory* library_at(std::string_view path);

/// Whose workspace an allocation made at this stack is; nullptr: it is no library's.
const LibraryMemory* library_memory_at(const reader::Dictionary& dictionary, ids::StackId stack);

/// A call of the program that led to one of the driver by way of such a library.
struct LibraryCall {
    ids::StackId caller{};                 ///< stack from the program's call on outwards; 0: no library's
    const LibraryMemory* memory = nullptr; ///< of the library that the program called
};
LibraryCall library_call_at(const reader::Dictionary& dictionary, ids::StackId stack);

/// What libraries took from the driver for themselves, in one line; empty: nothing to speak of.
std::string library_memory_text(const Profile& profile);

} // namespace umadvisor::rules
