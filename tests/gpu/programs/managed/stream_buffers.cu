// Four streams, each with a buffer of its own; the host goes through one buffer while the others are still
// under way.
#include "tests/gpu/programs/work.hpp"

constexpr std::size_t lanes = 4;

KERNEL increment(DevicePtr<unsigned> data, unsigned by, std::size_t n) {
    GRID_STRIDE_LOOP(i, n) {
        data[i] += by;
    }
}

int main(int argc, char** argv) {
    managed::Work work(argc, argv, {96, 12, 8});
    const std::size_t n = work.count<unsigned>(lanes);
    cudaStream_t stream[lanes];
    unsigned* data[lanes];
    for (std::size_t lane = 0; lane < lanes; ++lane) {
        CHECK(cudaStreamCreateWithFlags(&stream[lane], cudaStreamNonBlocking));
        data[lane] = work.allocate<unsigned>(n);
        for (std::size_t i = 0; i < n; ++i)
            data[lane][i] = static_cast<unsigned>(i);
    }

    while (work.next_round()) {
        for (std::size_t lane = 0; lane < lanes; ++lane) {
            work.to_device(data[lane], n, stream[lane]);
            LAUNCH(increment, 264, 256, stream[lane], data[lane], static_cast<unsigned>(lane), n);
            work.to_host(data[lane], n, stream[lane]);
        }
        for (std::size_t lane = 0; lane < lanes; ++lane) {
            CHECK(cudaStreamSynchronize(stream[lane]));
            for (std::size_t i = 0; i < n; ++i)
                data[lane][i] += 1;
        }
    }

    bool right = true;
    for (std::size_t lane = 0; lane < lanes; ++lane) {
        for (std::size_t i = 0; i < n; ++i)
            right = right && data[lane][i] == static_cast<unsigned>(i + work.round() * (lane + 1));
        CHECK(cudaStreamDestroy(stream[lane]));
    }
    return work.conclude(data[lanes - 1], n, right);
}
