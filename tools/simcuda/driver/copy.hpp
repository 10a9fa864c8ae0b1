#pragma once

#include "tools/simcuda/driver/work.hpp"

namespace simcuda {

enum class CopyForm { synchronous, asynchronous };

/// A copy that the program asks for. `want`: the direction the entry point promises; copy_directions where the
/// addresses decide. `node`: what a graph keeps of it, where it is more than bytes in a row. The caller does
/// not hold the mutex.
CUresult copy(std::uint64_t target, std::uint64_t source, const CopyShape& shape, CUstream stream,
              bool per_thread, CopyForm form, CopyDirection want = copy_directions,
              const CUDA_MEMCPY3D* node = nullptr);

} // namespace simcuda
