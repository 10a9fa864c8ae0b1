// Calls the driver through weak symbols, after it has brought the driver in for everybody.
#define __CUDA_API_VERSION_INTERNAL
#include <cuda.h>

#include <cstdio>
#include <dlfcn.h>

#pragma weak cuInit
#pragma weak cuMemAlloc_v2

int main(int argc, char**) {
    if (argc > 1) { // without a driver: whatever the weak symbols say, nothing may work and nothing may crash
        std::printf("%s\n", dlsym(RTLD_DEFAULT, "cuInit") == nullptr ? "missing" : "there");
        std::printf("%s\n", dlsym(dlopen(nullptr, RTLD_NOW), "cuInit") == nullptr ? "missing" : "there");
        std::printf("%s\n", dlerror() != nullptr ? "said so" : "silent");
        std::printf("%s\n", &cuInit == nullptr || cuInit(0) != CUDA_SUCCESS ? "no CUDA" : "CUDA");
        return 0;
    }
    CUdeviceptr x = 0;
    std::printf("%s\n", &cuInit != nullptr ? "there" : "missing");
    if (&cuInit != nullptr) {
        std::printf("%d\n", cuInit(0));
        std::printf("%d\n", cuMemAlloc_v2(&x, 16));
    }
    return 0;
}
