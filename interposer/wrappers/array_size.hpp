/// Sizes of CUDA arrays, from their descriptors. Plain arithmetic.
#pragma once

#include "interposer/attach/entries.hpp"

#include <cstdint>

namespace umadvisor::wrappers {

/// Bits of one element, with its share of planes that are sampled more coarsely. 0: an unknown format.
std::uint64_t element_bits(CUarray_format format, unsigned channels) noexcept;

struct ArrayExtent {
    std::uint64_t width, height, depth; ///< elements; height and depth 0: fewer dimensions
    CUarray_format format;
    unsigned channels;
    unsigned flags;
};

/// Bytes of all elements of the first `levels` levels, without the padding that only the driver knows. As
/// cuMipmappedArrayCreate does it, more levels than there can be are as many as there can be. 0 for sparse and
/// deferred mapping arrays, which have no memory of their own, and for unknown formats.
std::uint64_t array_bytes(const ArrayExtent& extent, unsigned levels) noexcept;

} // namespace umadvisor::wrappers
