// First the host and the device change the whole of an array in turns, which no advice ends. Then it stays on
// the device, and they write a block of flags in turns that was the device's until then.
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
    auto* const flags = work.allocate<unsigned>(count);
    std::fill_n(state, n, 0u);
    std::fill_n(flags, count, 0u);

    while (work.next_round()) {
        LAUNCH(step, 264, 256, nullptr, state, n, flags, count);
        CHECK(cudaDeviceSynchronize());
        const auto renew = [](unsigned& each) { each += 2; };
        if (work.round() < turns)
            std::for_each_n(state, n, renew);
        else
            std::for_each_n(flags, count, renew);
    }

    const std::size_t rounds = work.round(), of_state = std::min(rounds, turns), of_flags = rounds - of_state;
    const auto are = [](const unsigned* all, std::size_t number, std::size_t value) {
        return std::all_of(all, all + number, [value](unsigned each) { return each == value; });
    };
    const bool right = are(state, n, rounds + 2 * of_state) && are(flags, count, rounds + 2 * of_flags);
    return work.conclude(state, n, right);
}
