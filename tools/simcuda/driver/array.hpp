#pragma once

#include "tools/simcuda/driver/driver.hpp"

/// A CUDA array, or a level of a mipmapped one: its elements lie packed in device memory.
struct CUarray_st {
    CUDA_ARRAY3D_DESCRIPTOR descriptor{}; ///< as given
    std::uint64_t element = 0;            ///< bytes
    std::uint64_t address = 0;            ///< of the elements; 0: sparse or deferred mapping, nothing is mapped
    bool level = false;                   ///< destroyed with its mipmapped array alone

    std::uint64_t rows() const { return descriptor.Height ? descriptor.Height : 1; }
    std::uint64_t layers() const { return descriptor.Depth ? descriptor.Depth : 1; }
    std::uint64_t pitch() const { return descriptor.Width * element; }
    std::uint64_t bytes() const { return pitch() * rows() * layers(); }
};

struct CUmipmappedArray_st {
    std::vector<std::unique_ptr<CUarray_st>> levels;
};

namespace simcuda {

/// The array behind a handle, or nullptr. The caller holds the mutex.
const CUarray_st* find_array(CUarray handle);

} // namespace simcuda
