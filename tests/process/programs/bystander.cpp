// Does what has nothing to do with CUDA beside it, and prints what it sees: it must see the same with an
// interposer.
#include "driver_program.hpp"

#include <cerrno>
#include <fcntl.h>
#include <fstream>
#include <string>
#include <unistd.h>

extern "C" int layered();

namespace {

/// What a call leaves in errno.
#define CALL(name, symbol, ...)                                                                                \
    do {                                                                                                       \
        const auto entry_point = ASK(name, symbol);                                                            \
        errno = 4242;                                                                                          \
        const int answer = static_cast<int>(entry_point(__VA_ARGS__));                                         \
        const int left = errno;                                                                                \
        std::printf(#symbol ": %d, errno %d\n", answer, left);                                                 \
    } while (false)

void look_at_errno() {
    errno = 4242;
    dlsym(RTLD_DEFAULT, "cuNoDriverYet");
    std::printf("errno %d\n", errno);
    errno = 4242;
    dlsym(RTLD_DEFAULT, "cuInit");
    std::printf("errno %d\n", errno);
    CUcontext context = nullptr;
    CUdeviceptr device = 0, managed = 0;
    CUstream stream = nullptr;
    CUevent event = nullptr;
    static char host[1 << 16];
    CALL("cuInit", cuInit, 0);
    CALL("cuDevicePrimaryCtxRetain", cuDevicePrimaryCtxRetain, &context, 0);
    CALL("cuCtxSetCurrent", cuCtxSetCurrent, context);
    const CUfunction function = load_count_up();
    CALL("cuMemAlloc", cuMemAlloc_v2, &device, sizeof host);
    CALL("cuMemAllocManaged", cuMemAllocManaged, &managed, sizeof host, CU_MEM_ATTACH_GLOBAL);
    CALL("cuStreamCreate", cuStreamCreate, &stream, CU_STREAM_NON_BLOCKING);
    CALL("cuEventCreate", cuEventCreate, &event, CU_EVENT_DEFAULT);
    CALL("cuMemcpyHtoD", cuMemcpyHtoD_v2, device, host, sizeof host);
    CALL("cuMemcpyHtoDAsync", cuMemcpyHtoDAsync_v2, device, host, sizeof host, stream);
    void* parameters[] = {&managed};
    for (int i = 0; i < 2; ++i)
        CALL("cuLaunchKernel", cuLaunchKernel, function, 1, 1, 1, 1, 1, 1, 0, stream, parameters, nullptr);
    CALL("cuEventRecord", cuEventRecord, event, stream);
    CALL("cuStreamSynchronize", cuStreamSynchronize, stream);
    CALL("cuMemFree", cuMemFree_v2, managed);
    CALL("cuMemFree", cuMemFree_v2, 64);
}

void look_at_descriptors() {
    const int before = open("/dev/null", O_RDONLY);
    make_context();
    load_count_up();
    CUdeviceptr x = 0;
    must(ASK("cuMemAlloc", cuMemAlloc_v2)(&x, 4096), "allocate");
    std::printf("%d\n", open("/dev/null", O_RDONLY) - before);
}

/// The runtime verifies a hash over the driver's private tables and their addresses.
void look_at_tables() {
    make_context();
    const void* const table = simcudart_device_interface();
    Dl_info info;
    std::printf("%s\n", dladdr(table, &info) != 0 ? std::strrchr(info.dli_fname, '/') + 1 : "nowhere");
}

bool is_mapped(const char* name) {
    std::ifstream maps("/proc/self/maps");
    for (std::string line; std::getline(maps, line);)
        if (line.find(name) != std::string::npos)
            return true;
    return false;
}

/// The driver could be found, and nobody asks for it.
void want_no_driver() {
    dlsym(RTLD_DEFAULT, "cuInit");
    dlsym(dlopen(nullptr, RTLD_NOW), "cuGetProcAddress_v2");
    std::printf("%s\n", is_mapped("libcuda.so") ? "the driver is loaded" : "no driver");
}

/// Found by this program's own RUNPATH, and by nobody else's (dlopen(3)).
void open_plugin() {
    void* const plugin = dlopen("libbystander_plugin.so", RTLD_NOW | RTLD_LOCAL);
    std::printf("%s\n", plugin != nullptr && dlsym(plugin, "layered") != nullptr ? "plugin" : dlerror());
}

void launch_much() {
    make_context();
    const CUfunction function = load_count_up();
    CUdeviceptr x = 0;
    must(ASK("cuMemAlloc", cuMemAlloc_v2)(&x, 4096), "allocate");
    void* parameters[] = {&x};
    const auto launch = ASK("cuLaunchKernel", cuLaunchKernel);
    for (int i = 0; i < 400000; ++i)
        must(launch(function, 1, 1, 1, 1, 1, 1, 0, nullptr, parameters, nullptr), "launch");
    std::printf("%d\n", ASK("cuCtxSynchronize", cuCtxSynchronize_v2)(nullptr));
}

} // namespace

int main(int argc, char** argv) {
    const std::string scenario = argc == 2 ? argv[1] : "";
    if (scenario == "errno")
        look_at_errno();
    else if (scenario == "descriptors")
        look_at_descriptors();
    else if (scenario == "tables")
        look_at_tables();
    else if (scenario == "none")
        want_no_driver();
    else if (scenario == "next")
        std::printf("%d %d\n", layered(), layered());
    else if (scenario == "plugin")
        open_plugin();
    else if (scenario == "launches")
        launch_much();
    else
        return 2;
    return 0;
}
