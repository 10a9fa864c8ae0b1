#include "tools/simcuda/driver/driver.hpp"

namespace simcuda {

int refuse_unsupported(Entry entry);

int refuse_unsupported(Entry entry) {
    __atomic_fetch_add(&driver().control.unsupported_calls, 1, __ATOMIC_RELAXED);
    const CUresult refused = enter(entry, Needs::nothing);
    return refused != CUDA_SUCCESS ? refused : CUDA_ERROR_NOT_SUPPORTED;
}

} // namespace simcuda
