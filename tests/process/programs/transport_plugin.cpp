// Calls the driver as a library of its own would.
#define __CUDA_API_VERSION_INTERNAL
#include <cuda.h>

extern "C" __attribute__((visibility("default"))) CUresult allocate_there(decltype(&cuMemAlloc_v2) allocate,
                                                                          CUdeviceptr* out, size_t bytes) {
    const CUresult answer = allocate(out, bytes);
    asm volatile("" ::: "memory"); // no tail call: this frame is to be on the stack
    return answer;
}

extern "C" __attribute__((visibility("default"))) int is_managed_there(decltype(&cuPointerGetAttribute) ask,
                                                                       CUdeviceptr address) {
    unsigned managed = 0; // of which the driver may write a byte or all
    const CUresult answer = ask(&managed, CU_POINTER_ATTRIBUTE_IS_MANAGED, address);
    return answer == CUDA_SUCCESS ? static_cast<int>(managed & 0xff) : -1;
}
