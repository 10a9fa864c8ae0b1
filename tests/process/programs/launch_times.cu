/// Launches that return at once and launches that block, as those do that find the driver's queue full. Prints
/// how many there were and how long all the calls took, by the simulated clock.
#include "tools/simcuda/portable.hpp"

#include <cstdio>
#include <cstdlib>
#include <dlfcn.h>

namespace {

using Nanoseconds = unsigned long long;

template <class Function>
Function* simcuda_function(const char* name) {
    void* const found = dlsym(dlopen("libcuda.so.1", RTLD_NOW), name);
    if (found == nullptr)
        std::exit(3);
    return reinterpret_cast<Function*>(found);
}

void block_for(Nanoseconds time) {
    static auto* const advance = simcuda_function<void(Nanoseconds)>("simcuda_advance_ns");
    advance(time);
}

} // namespace

/// Run by the launch itself, whose call it prolongs.
KERNEL take_time(Nanoseconds time) {
    block_for(time);
}

int main(int argc, char** argv) {
    auto* const now = simcuda_function<Nanoseconds()>("simcuda_clock_ns");
    LAUNCH(take_time, 1, 1, nullptr, Nanoseconds{0}); // the runtime loads the kernel, before it launches it
    Nanoseconds launches = 1, inside = 0;
    // Pairs: how many launches, and how long each of them blocks.
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
