// libcount_only.so: the least an interposer can do, to compare with. Preloaded, it answers cuGetProcAddress
// with its own cuLaunchKernel, which adds one and calls the driver. COUNT_ONLY=FILE receives the number at
// exit, so that a benchmark can tell that it was really in the way.
#include <cuda.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <dlfcn.h>

namespace {

using Dlsym = void* (*)(void*, const char*) noexcept;
using Lookup = CUresult (*)(const char*, void**, int, cuuint64_t, CUdriverProcAddressQueryResult*);
using Launch = CUresult (*)(CUfunction, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned,
                            CUstream, void**, void**);

Dlsym real_dlsym = nullptr;
Lookup real_lookup = nullptr;
Launch real_launch = nullptr;
Launch real_launch_per_thread = nullptr;
std::atomic<unsigned long> launches = 0;

CUresult count_launch(CUfunction function, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by,
                      unsigned bz, unsigned shared, CUstream stream, void** parameters, void** extra) {
    launches.fetch_add(1, std::memory_order_relaxed);
    return real_launch(function, gx, gy, gz, bx, by, bz, shared, stream, parameters, extra);
}

CUresult count_launch_per_thread(CUfunction function, unsigned gx, unsigned gy, unsigned gz, unsigned bx,
                                 unsigned by, unsigned bz, unsigned shared, CUstream stream, void** parameters,
                                 void** extra) {
    launches.fetch_add(1, std::memory_order_relaxed);
    return real_launch_per_thread(function, gx, gy, gz, bx, by, bz, shared, stream, parameters, extra);
}

CUresult look_up(const char* name, void** address, int version, cuuint64_t flags,
                 CUdriverProcAddressQueryResult* status) {
    const CUresult result = real_lookup(name, address, version, flags, status);
    if (result != CUDA_SUCCESS || !address || !*address)
        return result;
    // By the address, not by the name: one name has several versions.
    if (*address == reinterpret_cast<void*>(real_launch))
        *address = reinterpret_cast<void*>(count_launch);
    else if (*address == reinterpret_cast<void*>(real_launch_per_thread))
        *address = reinterpret_cast<void*>(count_launch_per_thread);
    else if (*address == reinterpret_cast<void*>(real_lookup))
        *address = reinterpret_cast<void*>(look_up);
    return result;
}

void write_count() {
    const char* path = std::getenv("COUNT_ONLY");
    std::FILE* file = path ? std::fopen(path, "w") : nullptr;
    if (!file)
        return;
    std::fprintf(file, "%lu\n", launches.load());
    std::fclose(file);
}

__attribute__((constructor)) void find_dlsym() noexcept {
    real_dlsym = reinterpret_cast<Dlsym>(dlvsym(RTLD_NEXT, "dlsym", "GLIBC_2.34"));
    if (!real_dlsym)
        real_dlsym = reinterpret_cast<Dlsym>(dlvsym(RTLD_NEXT, "dlsym", "GLIBC_2.2.5"));
    if (!real_dlsym)
        real_dlsym = reinterpret_cast<Dlsym>(dlvsym(RTLD_NEXT, "dlsym", "GLIBC_2.17")); // aarch64's first
    std::atexit(write_count);
}

void* answer_lookup(void* handle, const char* name) noexcept {
    real_lookup = reinterpret_cast<Lookup>(real_dlsym(handle, name));
    real_launch = reinterpret_cast<Launch>(real_dlsym(handle, "cuLaunchKernel"));
    real_launch_per_thread = reinterpret_cast<Launch>(real_dlsym(handle, "cuLaunchKernel_ptsz"));
    return real_lookup && real_launch ? reinterpret_cast<void*>(look_up) : reinterpret_cast<void*>(real_lookup);
}

Dlsym choose(const char* name) noexcept {
    if (!real_dlsym)
        find_dlsym();
    return std::strcmp(name, "cuGetProcAddress_v2") == 0 ? answer_lookup : real_dlsym;
}

} // namespace

// One call in tail position and no exceptions, so that it is a jump (this file is always built with -O2):
// RTLD_NEXT and RTLD_DEFAULT look at who called.
extern "C" __attribute__((visibility("default"))) void* dlsym(void* handle, const char* name) noexcept {
    return choose(name)(handle, name);
}
