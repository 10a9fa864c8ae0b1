#pragma once

#include "tools/simcuda/driver/driver.hpp"

/// Carrying out what a stream or a graph has in store, whoever asks for it. The caller holds the mutex where
/// nothing else is said.
namespace simcuda {

/// The kernel behind a CUfunction; a CUkernel cast to one is as good (cuda.h, cuLaunchKernel). Null: none.
const CUkern_st* find_kernel(CUfunction function);
/// The packed parameter buffer of `extra`, or nullptr.
const char* packed_parameters(void** extra);
bool good_shape(const Shape& shape);

/// Runs a kernel at once, on the calling thread, and gives it its place in the stream's time. The caller does
/// not hold the mutex.
void run_kernel(const KernelEntry& entry, void** parameters, const Shape& shape, CUstream_st* stream,
                int device);

/// Rows of `width` bytes; one row is a plain copy. Pitches are in bytes.
struct CopyShape {
    std::uint64_t width, height, depth;
    std::uint64_t target_pitch, target_slice, source_pitch, source_slice;
    std::uint64_t bytes() const { return width * height * depth; }
};

/// A copy or set as the stream comes to it: the host does not wait.
CUresult run_copy(CUstream_st& stream, std::uint64_t target, std::uint64_t source, const CopyShape& shape);
CUresult run_set(CUstream_st& stream, const CUDA_MEMSET_NODE_PARAMS& parameters);

} // namespace simcuda
