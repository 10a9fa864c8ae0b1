// Two __managed__ arrays that no parameter names; the device and the host change one of them in turn.
#include "tests/gpu/programs/work.hpp"

constexpr std::size_t each_mib = managed::gpu_or_sim(48, 4), cells = (each_mib << 20) / sizeof(unsigned);

MANAGED_ARRAY(unsigned, board, cells);
MANAGED_ARRAY(unsigned, rule, cells);

KERNEL advance() {
    const DevicePtr<unsigned> here = DEVICE_VIEW(board);
    const DevicePtr<unsigned> by = DEVICE_VIEW(rule);
    GRID_STRIDE_LOOP(i, cells) {
        here[i] += by[i];
    }
}

int main(int argc, char** argv) {
    managed::Work work(argc, argv, {2 * each_mib, 2 * each_mib, 8});
    if (work.mib() != 2 * each_mib)
        example::refuse("--mib: the size of the arrays is part of the program");
    unsigned *const state = board, *const added = rule;
    for (std::size_t i = 0; i < cells; ++i) {
        state[i] = 0;
        added[i] = static_cast<unsigned>(i % 7);
    }

    while (work.next_round()) {
        work.to_device(state, cells);
        if (work.round() == 0)
            work.to_device(added, cells);
        LAUNCH(advance, 264, 256, nullptr);
        work.to_host(state, cells);
        CHECK(cudaDeviceSynchronize());
        for (std::size_t i = 0; i < cells; ++i)
            state[i] += 1;
    }

    bool right = true;
    for (std::size_t i = 0; i < cells; ++i)
        right = right && state[i] == work.round() * (i % 7 + 1);
    return work.conclude(state, cells, right);
}
