// What libraries do whose lines a report names; built with and without a frame pointer.
#define __CUDA_API_VERSION_INTERNAL
#include <cuda.h>

extern "C" [[gnu::visibility("default")]] int copy_in_library(CUdeviceptr to, const void* from,
                                                              std::size_t bytes) {
    const int answer = cuMemcpyHtoD_v2(to, from, bytes); // line: library
    asm volatile("" ::: "memory");                       // no tail call
    return answer;
}
