#pragma once
// A block of flags that the device writes in each round, beside a state that stays there.
#include "tests/gpu/programs/work.hpp"

KERNEL step(DevicePtr<unsigned> state, std::size_t n, DevicePtr<unsigned> flags, std::size_t count) {
    GRID_STRIDE_LOOP(i, n) {
        state[i] = state[i] * 3 + 1;
    }
    GRID_STRIDE_LOOP(i, count) {
        flags[i] += 1;
    }
}

namespace relief {

struct Flags {
    explicit Flags(managed::Work& work)
        : n(work.count<unsigned>(1)), state(work.allocate<unsigned>(n)), flags(work.allocate<unsigned>(count)) {
        for (std::size_t i = 0; i < n; ++i)
            state[i] = static_cast<unsigned>(i);
        for (std::size_t i = 0; i < count; ++i)
            flags[i] = static_cast<unsigned>(i);
    }

    /// The host's part of a round.
    void raise() const {
        for (std::size_t i = 0; i < count; ++i)
            flags[i] += 2;
    }
    bool right(std::size_t rounds) const {
        bool all = true;
        for (std::size_t i = 0; i < count; ++i)
            all = all && flags[i] == static_cast<unsigned>(i + 3 * rounds);
        return all;
    }

    static constexpr std::size_t count = 1024;
    const std::size_t n;
    unsigned *const state, *const flags;
};

} // namespace relief
