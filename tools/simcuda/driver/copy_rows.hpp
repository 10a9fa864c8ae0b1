#pragma once

#include "tools/simcuda/driver/copy.hpp"

namespace simcuda {

/// A copy as cuMemcpy3D describes it, to and from arrays too: where it goes. False: it is none. The caller does
/// not hold the mutex, here and below.
struct PlacedRows {
    std::uint64_t target, source;
    CopyShape shape;
};
bool place_rows(const CUDA_MEMCPY3D& given, PlacedRows& out);

CUresult copy_rows(const CUDA_MEMCPY3D& given, CUstream stream, bool per_thread, CopyForm form);

} // namespace simcuda
