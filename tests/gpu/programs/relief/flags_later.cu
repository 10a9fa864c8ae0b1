// First the host and the device change the whole of an array in turns, which no advice ends. Then it stays on
// the device, and a block of flags that both write in each round comes into being.
#include "tests/gpu/programs/work.hpp"

#include <algorithm>

KERNEL step(DevicePtr<unsigned> state, std::size_t n, DevicePtr<unsigned> flags, std::size_t count) {
    GRID_STRIDE_LOOP(i, n) {
        state[i] += 1;
    }
    GRID_STRIDE_LOOP(i, count) {
        flags[i] += 1;
    }
}

int main(int argc, char** argv) {
    managed::Work work(argc, argv, {16, 1, 80});
    const std::size_t n = work.count<unsigned>(1), count = 1024, turns = 24;
    auto* const state = work.allocate<unsigned>(n);
    unsigned* flags = nullptr;
    std::fill_n(state, n, 0u);

    while (work.next_round()) {
        if (work.round() == turns) {
            flags = work.allocate<unsigned>(count);
            std::fill_n(flags, count, 0u);
        }
        LAUNCH(step, 264, 256, nullptr, state, n, DevicePtr<unsigned>(flags), flags == nullptr ? 0 : count);
        CHECK(cudaDeviceSynchronize());
        if (flags == nullptr)
            std::for_each_n(state, n, [](unsigned& each) { each += 2; });
        else
            std::for_each_n(flags, count, [](unsigned& each) { each += 2; });
    }

    const std::size_t rounds = work.round(), of_state = std::min(rounds, turns), of_flags = rounds - of_state;
    bool right = std::all_of(state, state + n, [&](unsigned each) { return each == rounds + 2 * of_state; });
    if (flags != nullptr)
        right = right && std::all_of(flags, flags + count, [&](unsigned each) { return each == 3 * of_flags; });
    return work.conclude(state, n, right);
}
