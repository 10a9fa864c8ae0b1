/// Opens plug-ins as hosts do that fear a clash of symbols: each with a scope of its own.
#define __CUDA_API_VERSION_INTERNAL
#include <cuda.h>

#include <cstdio>
#include <cstring>
#include <dlfcn.h>
#include <string>

int main(int argc, char** argv) {
    const int deep = argc == 2 && std::strcmp(argv[1], "deep") == 0 ? RTLD_DEEPBIND : 0;
    CUcontext context = nullptr;
    CUdeviceptr address = 0;
    std::printf("%d\n", cuInit(0));
    std::printf("%d\n", cuDevicePrimaryCtxRetain(&context, 0));
    std::printf("%d\n", cuCtxSetCurrent(context));
    std::printf("%d\n", cuMemAlloc_v2(&address, 4096));
    const std::string program = argv[0];
    const std::string folder = program.substr(0, program.rfind('/') + 1) + "plugins/";
    for (const char* name : {"libdeep_linked.so", "libdeep_asking.so"}) {
        void* const plugin = dlopen((folder + name).c_str(), RTLD_LAZY | deep);
        if (plugin == nullptr) {
            std::printf("%s\n", dlerror());
            return 3;
        }
        std::printf("%d\n", reinterpret_cast<int (*)()>(dlsym(plugin, "allocate_for_plugin"))());
    }
    return 0;
}
