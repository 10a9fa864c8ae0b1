/// Fields of structures that were read as bytes.
#pragma once

#include <array>
#include <cstddef>
#include <cstring>

namespace umadvisor::reader {

/// The bytes of a structure.
template <class Structure>
using BytesOf = std::array<unsigned char, sizeof(Structure)>;

/// The value at `offset`, which lies within `bytes` whole.
template <class T, std::size_t size>
T field(const std::array<unsigned char, size>& bytes, std::size_t offset) {
    T value;
    std::memcpy(&value, bytes.data() + offset, sizeof value);
    return value;
}

} // namespace umadvisor::reader
