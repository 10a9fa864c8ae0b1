/// Launches that return at once and launches that block, as those do that find the driver's queue full. Prints
/// how many there were and how many nanoseconds all the calls took: on simcuda by its clock, where each blocks
/// for as long as its kernel takes; on a GPU by the system's, where they block once the queue is full.
#include "tools/simcuda/portable.hpp"

#include <cstdio>
#include <cstdlib>

using Nanoseconds = unsigned long long;

#ifdef __CUDACC__

#include <ctime>

namespace {

Nanoseconds now() {
    timespec time{};
    clock_gettime(CLOCK_MONOTONIC, &time);
    return static_cast<Nanoseconds>(time.tv_sec) * 1'000'000'000 + static_cast<Nanoseconds>(time.tv_nsec);
}

__device__ Nanoseconds device_now() {
    Nanoseconds time = 0;
    asm volatile("mov.u64 %0, %globaltimer;" : "=l"(time));
    return time;
}

} // namespace

KERNEL take_time(Nanoseconds time) {
    for (const Nanoseconds start = device_now(); device_now() - start < time;) {
    }
}

#else

#include <dlfcn.h>

namespace {

template <class Function>
Function* simcuda_function(const char* name) {
    void* const found = dlsym(dlopen("libcuda.so.1", RTLD_NOW), name);
    if (found == nullptr)
        std::exit(3);
    return reinterpret_cast<Function*>(found);
}

Nanoseconds now() {
    static auto* const clock = simcuda_function<Nanoseconds()>("simcuda_clock_ns");
    return clock();
}

} // namespace

/// Run by the launch itself, whose call it prolongs.
KERNEL take_time(Nanoseconds time) {
    static auto* const advance = simcuda_function<void(Nanoseconds)>("simcuda_advance_ns");
    advance(time);
}

#endif

int main(int argc, char** argv) {
    LAUNCH(take_time, 1, 1, nullptr, Nanoseconds{0}); // the runtime loads the kernel, before it launches it
    Nanoseconds launches = 1, inside = 0;
    // Pairs: how many launches, and how long the kernel of each takes.
    for (int i = 1; i + 1 < argc; i += 2)
        for (long left = std::atol(argv[i]); left > 0; --left, ++launches) {
            const Nanoseconds before = now();
            LAUNCH(take_time, 1, 1, nullptr, static_cast<Nanoseconds>(std::atoll(argv[i + 1])));
            inside += now() - before;
        }
    if (cudaDeviceSynchronize() != cudaSuccess)
        return 1;
    std::printf("%llu %llu\n", launches, inside);
}
