// A block of flags that the device and the host write in each round, beside a state that stays on the device.
#include "tests/gpu/programs/relief/flags.hpp"

int main(int argc, char** argv) {
    managed::Work work(argc, argv, {16, 1, 40});
    const relief::Flags own(work);

    while (work.next_round()) {
        LAUNCH(step, 264, 256, nullptr, own.state, own.n, own.flags, own.count);
        CHECK(cudaDeviceSynchronize());
        own.raise();
    }

    return work.conclude(own.state, own.n, own.right(work.round()));
}
