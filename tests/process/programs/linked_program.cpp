// Linked with the driver itself, as programs built with -lcuda are; with a second way to the same functions.
#define __CUDA_API_VERSION_INTERNAL
#include <cuda.h>

#include <cstdio>
#include <dlfcn.h>

int main() {
    CUcontext context = nullptr;
    CUdeviceptr x = 0, y = 0, z = 0;
    std::printf("%d\n", cuInit(0));
    std::printf("%d\n", cuDevicePrimaryCtxRetain(&context, 0));
    std::printf("%d\n", cuCtxSetCurrent(context));
    std::printf("%d\n", cuMemAlloc_v2(&x, 1 << 16));
    using Allocate = decltype(&cuMemAlloc_v2);
    const auto by_default = reinterpret_cast<Allocate>(dlsym(RTLD_DEFAULT, "cuMemAlloc_v2"));
    const auto by_program = reinterpret_cast<Allocate>(dlsym(dlopen(nullptr, RTLD_NOW), "cuMemAlloc_v2"));
    std::printf("%d\n", by_default != nullptr ? by_default(&y, 2 << 16) : -1);
    std::printf("%d\n", by_program != nullptr ? by_program(&z, 3 << 16) : -1);
    std::printf("%d %d %d\n", cuMemFree_v2(x), cuMemFree_v2(y), cuMemFree_v2(z));
    std::printf("%s\n", dlsym(RTLD_DEFAULT, "cuNoSuchFunction") == nullptr ? "missing" : "there");
    return 0;
}
