// Launches, counts its launches in a shared file, and dies by SIGKILL in the middle.
#include "tools/simcuda/portable.hpp"

#include <csignal>
#include <cstdint>
#include <cstdio>
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

KERNEL count_up(DevicePtr<float> x) {
    x[0] = x[0] + 1;
}

int main(int argc, char** argv) {
    if (argc != 2)
        return 2;
    const int file = open(argv[1], O_RDWR | O_CREAT, 0600);
    if (file < 0 || ftruncate(file, sizeof(std::uint64_t)) != 0)
        return 2;
    auto* const launched = static_cast<volatile std::uint64_t*>(
        mmap(nullptr, sizeof(std::uint64_t), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0));
    float* x = nullptr;
    if (cudaMalloc(reinterpret_cast<void**>(&x), sizeof *x) != cudaSuccess)
        return 1;
    for (std::uint64_t i = 1; i <= 50000; ++i) {
        LAUNCH(count_up, 1, 1, nullptr, DevicePtr<float>(x));
        *launched = i;
    }
    kill(getpid(), SIGKILL);
    return 0;
}
