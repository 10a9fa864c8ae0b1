// A __device__ __managed__ variable that the device and the host change in turn: ping-pong of memory that no
// allocation call ever returned. --mib is fixed by the type of the variable.
#include "options.hpp"

#include "tools/simcuda/portable.hpp"

#ifdef __CUDACC__
constexpr example::Options defaults{2, 10};
#else
constexpr example::Options defaults{2, 5};
#endif

constexpr std::size_t cells = (std::size_t{2} << 20) / sizeof(float);

MANAGED_ARRAY(float, board, cells);

KERNEL advance(std::size_t n) {
    const DevicePtr<float> view = DEVICE_VIEW(board);
    const std::size_t stride = std::size_t{gridDim.x} * blockDim.x;
    for (std::size_t i = std::size_t{blockIdx.x} * blockDim.x + threadIdx.x; i < n; i += stride)
        view[i] += 1.0f;
}

int main(int argc, char** argv) {
    const auto options = example::read_managed_options(argc, argv, defaults);
    if (options.mib != defaults.mib)
        example::refuse("--mib: the size of the variable is part of the program");
    float* const cell = board;

    for (std::size_t i = 0; i < cells; ++i)
        cell[i] = static_cast<float>(i % 1000);
    for (std::size_t round = 0; round < options.rounds; ++round) {
        LAUNCH(advance, 264, 256, nullptr, cells);
        CHECK(cudaDeviceSynchronize());
        for (std::size_t i = 0; i < cells; ++i)
            cell[i] += 1.0f;
    }

    const float added = 2.0f * static_cast<float>(options.rounds);
    bool right = true;
    for (std::size_t i = 0; i < cells; ++i)
        right = right && cell[i] == static_cast<float>(i % 1000) + added;
    return example::conclude(cells, example::checksum(cell, cells * sizeof(float)), right);
}
