#include "interposer/attach/real.hpp"

namespace umadvisor::attach {

CUresult CUDAAPI missing_entry() noexcept {
    return CUDA_ERROR_NOT_SUPPORTED;
}

void* umadvisor_real_table[entry_count] = {
#define API(symbol, handling) reinterpret_cast<void*>(&missing_entry),
#include "interposer/driver_api.def"
};

} // namespace umadvisor::attach
