// Does what has nothing to do with CUDA beside it, and prints what it sees: it must see the same with an
// interposer.
#include "driver_program.hpp"
#include "scenarios.hpp"

#include <cerrno>
#include <fcntl.h>
#include <fstream>
#include <string>
#include <sys/mman.h>
#include <sys/stat.h>
#include <thread>
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
    CUgraph graph = nullptr;
    CUgraphExec exec = nullptr;
    CUdeviceptr pooled = 0;
    must(ASK("cuGraphCreate", cuGraphCreate)(&graph, 0), "graph");
    must(ASK("cuGraphInstantiateWithFlags", cuGraphInstantiateWithFlags)(&exec, graph, 0), "instantiate");
    CALL("cuStreamBeginCapture", cuStreamBeginCapture_v2, stream, CU_STREAM_CAPTURE_MODE_RELAXED);
    for (int i = 0; i < 2; ++i)
        CALL("cuLaunchKernel", cuLaunchKernel, function, 1, 1, 1, 1, 1, 1, 0, stream, parameters, nullptr);
    CALL("cuGraphLaunch", cuGraphLaunch, exec, stream);
    CALL("cuMemcpyHtoDAsync", cuMemcpyHtoDAsync_v2, device, host, sizeof host, stream);
    CALL("cuMemsetD8Async", cuMemsetD8Async, device, 1, sizeof host, stream);
    CALL("cuMemAllocAsync", cuMemAllocAsync, &pooled, sizeof host, stream);
    CALL("cuMemFreeAsync", cuMemFreeAsync, pooled, stream);
    CALL("cuStreamEndCapture", cuStreamEndCapture, stream, &graph);
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
    for (int i = 0; i < 8; ++i)
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

/// Code of no object, as just-in-time compilers make it: calls its first argument with the second.
using Call = void (*)(void (*)(void*), void*);
Call make_code() {
#if defined(__x86_64__)
    // push %rbp; mov %rsp, %rbp; mov %rdi, %rax; mov %rsi, %rdi; call *%rax; pop %rbp; ret
    static const unsigned char code[] = {0x55, 0x48, 0x89, 0xe5, 0x48, 0x89, 0xf8,
                                         0x48, 0x89, 0xf7, 0xff, 0xd0, 0x5d, 0xc3};
#else
    // stp x29, x30, [sp, #-16]!; mov x29, sp; mov x2, x0; mov x0, x1; blr x2; ldp x29, x30, [sp], #16; ret
    static const unsigned code[] = {0xa9bf7bfd, 0x910003fd, 0xaa0003e2, 0xaa0103e0,
                                    0xd63f0040, 0xa8c17bfd, 0xd65f03c0};
#endif
    void* const page =
        mmap(nullptr, 4096, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    std::memcpy(page, code, sizeof code);
    __builtin___clear_cache(static_cast<char*>(page), static_cast<char*>(page) + sizeof code);
    return reinterpret_cast<Call>(page);
}

/// Each depth is another stack.
[[gnu::noinline]] void call_from(int depth, Call code, void (*function)(void*), void* what) {
    if (depth > 0)
        call_from(depth - 1, code, function, what);
    else
        code(function, what);
    asm volatile("");
}

/// Closes what it has not opened, and fills the numbers with files of its own.
void reuse_descriptors() {
    make_context();
    static CUevent event = nullptr;
    must(ASK("cuEventCreate", cuEventCreate)(&event, CU_EVENT_DEFAULT), "event");
    static const auto record = ASK("cuEventRecord", cuEventRecord);
    const Call code = make_code();
    const auto record_from_many = [&] {
        make_context();
        for (int depth = 0; depth < 50; ++depth)
            call_from(
                depth, code, [](void*) { must(record(event, nullptr), "record"); }, nullptr);
    };
    record_from_many();
    for (int number = 3; number < 1024; ++number)
        close(number);
    int files[800];
    for (int& file : files) {
        char name[] = "/tmp/bystander-XXXXXX";
        file = mkstemp(name);
        unlink(name);
        if (file < 0 || write(file, "mine", 4) != 4 || lseek(file, 1, SEEK_SET) != 1)
            std::exit(3);
    }
    std::thread(record_from_many).join(); // on a stack that nobody has looked at
    int strange = 0;
    for (const int file : files) {
        struct stat state {};
        char content[8] = {};
        strange += lseek(file, 0, SEEK_CUR) != 1 || fstat(file, &state) != 0 || state.st_size != 4 ||
                   pread(file, content, 4, 0) != 4 || std::memcmp(content, "mine", 4) != 0;
    }
    std::printf("%d strange files\n", strange);
}

} // namespace

int main(int argc, char** argv) {
    return run_scenario(argc == 2 ? argv[1] : "",
                        {{"errno", look_at_errno},
                         {"descriptors", look_at_descriptors},
                         {"tables", look_at_tables},
                         {"none", want_no_driver},
                         {"next", [] { std::printf("%d %d\n", layered(), layered()); }},
                         {"plugin", open_plugin},
                         {"reuse", reuse_descriptors}});
}
