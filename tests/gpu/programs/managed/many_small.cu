// 256 allocations of 1 MiB and a launch for each; the host goes through all of them after every round.
#include "tests/gpu/programs/work.hpp"

KERNEL increment(DevicePtr<unsigned> data, std::size_t n) {
    GRID_STRIDE_LOOP(i, n) {
        data[i] += 1;
    }
}

int main(int argc, char** argv) {
    managed::Work work(argc, argv, {256, 16, 6});
    const std::size_t pieces = work.mib(), n = work.count<unsigned>(pieces);
    std::vector<unsigned*> piece(pieces);
    for (std::size_t each = 0; each < pieces; ++each) {
        piece[each] = work.allocate<unsigned>(n);
        for (std::size_t i = 0; i < n; ++i)
            piece[each][i] = static_cast<unsigned>(i + each);
    }

    while (work.next_round()) {
        for (auto* const each : piece)
            work.to_device(each, n);
        for (auto* const each : piece)
            LAUNCH(increment, 132, 256, nullptr, each, n);
        for (auto* const each : piece)
            work.to_host(each, n);
        CHECK(cudaDeviceSynchronize());
        for (auto* const each : piece)
            for (std::size_t i = 0; i < n; ++i)
                each[i] += 2;
    }

    bool right = true;
    for (std::size_t each = 0; each < pieces; ++each)
        for (std::size_t i = 0; i < n; ++i)
            right = right && piece[each][i] == static_cast<unsigned>(i + each + 3 * work.round());
    return work.conclude(piece[pieces - 1], n, right);
}
