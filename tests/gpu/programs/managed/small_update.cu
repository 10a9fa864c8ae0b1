// A large state lives on the device; each round the host renews a small part of it, another one every time.
#include "tests/gpu/programs/work.hpp"

KERNEL advance(DevicePtr<unsigned> state, std::size_t n) {
    GRID_STRIDE_LOOP(i, n) {
        state[i] = state[i] * 3 + 1;
    }
}

int main(int argc, char** argv) {
    managed::Work work(argc, argv, {128, 16, 16});
    const std::size_t n = work.count<unsigned>(1), part = n / 64;
    auto* const state = work.allocate<unsigned>(n);
    for (std::size_t i = 0; i < n; ++i)
        state[i] = static_cast<unsigned>(i);

    while (work.next_round()) {
        const auto place = [&](std::size_t round) { return state + round * 5 % 64 * part; };
        unsigned* const renewed = place(work.round());
        for (std::size_t i = 0; i < part; ++i)
            renewed[i] += static_cast<unsigned>(work.round());
        if (work.round() == 0)
            work.to_device(state, n);
        else
            work.to_device(renewed, part);
        LAUNCH(advance, 264, 256, nullptr, state, n);
        work.to_host(place(work.round() + 1), part);
        CHECK(cudaDeviceSynchronize());
    }

    bool right = true;
    for (std::size_t at = 0; at < 64; ++at)
        for (std::size_t i = at * part; i < (at + 1) * part; ++i) {
            auto expected = static_cast<unsigned>(i);
            for (std::size_t round = 0; round < work.round(); ++round)
                expected = (expected + (round * 5 % 64 == at ? static_cast<unsigned>(round) : 0)) * 3 + 1;
            right = right && state[i] == expected;
        }
    return work.conclude(state, n, right);
}
