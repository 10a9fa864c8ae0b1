// A kernel gets its arrays in a structure passed by value; the host reads one of them and renews another.
#include "tests/gpu/programs/work.hpp"

struct Particles {
    DevicePtr<unsigned> position, speed;
    DevicePtr<const unsigned> mass, force;
    std::size_t count;
};

KERNEL move(Particles particles) {
    GRID_STRIDE_LOOP(i, particles.count) {
        const unsigned speed = particles.speed[i] + particles.force[i] * particles.mass[i];
        particles.speed[i] = speed;
        particles.position[i] += speed;
    }
}

int main(int argc, char** argv) {
    managed::Work work(argc, argv, {128, 16, 8});
    const std::size_t n = work.count<unsigned>(4);
    auto* const position = work.allocate<unsigned>(n);
    auto* const speed = work.allocate<unsigned>(n);
    auto* const mass = work.allocate<unsigned>(n);
    auto* const force = work.allocate<unsigned>(n);
    for (std::size_t i = 0; i < n; ++i) {
        position[i] = 0;
        speed[i] = static_cast<unsigned>(i);
        mass[i] = static_cast<unsigned>(i % 3);
        force[i] = 1;
    }

    while (work.next_round()) {
        work.to_device(position, n);
        work.to_device(force, n);
        if (work.round() == 0) {
            work.to_device(speed, n);
            work.to_device(mass, n);
        }
        LAUNCH(move, 264, 256, nullptr, Particles{position, speed, mass, force, n});
        work.to_host(position, n);
        work.to_host(force, n);
        CHECK(cudaDeviceSynchronize());
        for (std::size_t i = 0; i < n; ++i)
            force[i] = position[i] % 5;
    }

    bool right = true;
    for (std::size_t i = 0; i < n; ++i) {
        auto at = 0u, fast = static_cast<unsigned>(i), pull = 1u;
        for (std::size_t round = 0; round < work.round(); ++round) {
            fast += pull * static_cast<unsigned>(i % 3);
            at += fast;
            pull = at % 5;
        }
        right = right && position[i] == at;
    }
    return work.conclude(position, n, right);
}
