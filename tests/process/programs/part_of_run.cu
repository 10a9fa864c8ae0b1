/// Programs of which a part is to be recorded.
#include "counting.hpp"

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <cuda_profiler_api.h>
#include <thread>
#include <unistd.h>

namespace {

/// What is made before the range and freed after it is used in it; a second range is like the first.
void ranges() {
    float* x = make();
    launch(x, 10);
    float* gone = nullptr;
    cudaMalloc(&gone, 1 << 20);
    cudaProfilerStart();
    launch(x, 20);
    float* within = nullptr;
    cudaMalloc(&within, 2 << 20);
    std::thread([x] { launch(x, 5); }).join();
    cudaProfilerStop();
    cudaFree(gone);
    // As like as not it has the address of what was freed.
    float* again = nullptr;
    cudaMalloc(&again, 1 << 20);
    launch(x, 30);
    cudaProfilerStart();
    cudaMemset(again, 0, 1 << 20);
    launch(x, 40);
    cudaProfilerStop();
    std::printf("%d ", static_cast<int>(cudaDeviceSynchronize()));
    std::printf("%g\n", static_cast<double>(x[0]));
}

/// Launches, and nothing but that, until the real clock says so; one launch more in each millisecond.
void spin(double seconds) {
    timespec begin{}, now{};
    clock_gettime(CLOCK_MONOTONIC, &begin);
    float* x = make();
    do {
        launch(x, 1);
        usleep(500);
        clock_gettime(CLOCK_MONOTONIC, &now);
    } while (static_cast<double>(now.tv_sec - begin.tv_sec) +
                 1e-9 * static_cast<double>(now.tv_nsec - begin.tv_nsec) <
             seconds);
    std::printf("%d\n", static_cast<int>(cudaDeviceSynchronize()));
}

} // namespace

int main(int argc, char** argv) {
    if (argc == 2 && std::strcmp(argv[1], "ranges") == 0)
        ranges();
    else if (argc == 3 && std::strcmp(argv[1], "spin") == 0)
        spin(std::atof(argv[2]));
    else
        return 2;
    return 0;
}
