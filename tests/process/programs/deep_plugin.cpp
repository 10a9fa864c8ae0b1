/// A plug-in that allocates: linked with the driver, or by asking for it.
#define __CUDA_API_VERSION_INTERNAL
#include <cuda.h>

#include <dlfcn.h>

extern "C" int allocate_for_plugin() {
    CUdeviceptr address = 0;
#ifdef LINKED
    return cuMemAlloc_v2(&address, 4096);
#else
    void* const driver = dlopen("libcuda.so.1", RTLD_NOW);
    return reinterpret_cast<decltype(&cuMemAlloc_v2)>(dlsym(driver, "cuMemAlloc_v2"))(&address, 4096);
#endif
}
