// The device assigns points to the nearest centre, the host moves the centres: few bytes go back and forth,
// many stay.
#include "tests/gpu/programs/work.hpp"

constexpr std::size_t centres = 16,
                      slots = 1024; // each slot adds up by itself: fewer threads in each other's way

KERNEL assign(DevicePtr<const unsigned> x, DevicePtr<const unsigned> y, DevicePtr<const unsigned> centre,
              DevicePtr<unsigned> sums, std::size_t n) {
    GRID_STRIDE_LOOP(i, n) {
        const unsigned here_x = x[i], here_y = y[i];
        std::size_t nearest = 0;
        unsigned least = ~0u;
        for (std::size_t each = 0; each < centres; ++each) {
            const unsigned across = centre[2 * each] - here_x, up = centre[2 * each + 1] - here_y;
            const unsigned distance = across * across + up * up;
            if (distance < least) {
                least = distance;
                nearest = each;
            }
        }
        const std::size_t at = (i % slots * centres + nearest) * 3;
        atomicAdd(&sums[at], here_x);
        atomicAdd(&sums[at + 1], here_y);
        atomicAdd(&sums[at + 2], 1u);
    }
}

int main(int argc, char** argv) {
    managed::Work work(argc, argv, {96, 6, 10});
    const std::size_t n = work.count<unsigned>(2), cells = slots * centres * 3;
    auto* const x = work.allocate<unsigned>(n);
    auto* const y = work.allocate<unsigned>(n);
    auto* const centre = work.allocate<unsigned>(2 * centres);
    auto* const sums = work.allocate<unsigned>(cells);
    for (std::size_t i = 0; i < n; ++i) {
        x[i] = static_cast<unsigned>(i * 2654435761u) >> 22;
        y[i] = static_cast<unsigned>(i * 2246822519u) >> 22;
    }
    for (std::size_t each = 0; each < centres; ++each) {
        centre[2 * each] = static_cast<unsigned>(each % 4 * 200 + 50);
        centre[2 * each + 1] = static_cast<unsigned>(each / 4 * 200 + 50);
    }

    bool right = true;
    while (work.next_round()) {
        std::memset(sums, 0, cells * sizeof *sums);
        if (work.round() == 0) {
            work.to_device(x, n);
            work.to_device(y, n);
        }
        work.to_device(centre, 2 * centres);
        work.to_device(sums, cells);
        LAUNCH(assign, 264, 256, nullptr, x, y, centre, sums, n);
        work.to_host(centre, 2 * centres);
        work.to_host(sums, cells);
        CHECK(cudaDeviceSynchronize());
        std::uint64_t assigned = 0;
        for (std::size_t each = 0; each < centres; ++each) {
            std::uint64_t total[3] = {};
            for (std::size_t slot = 0; slot < slots; ++slot)
                for (std::size_t part = 0; part < 3; ++part)
                    total[part] += sums[(slot * centres + each) * 3 + part];
            assigned += total[2];
            if (total[2] > 0) {
                centre[2 * each] = static_cast<unsigned>(total[0] / total[2]);
                centre[2 * each + 1] = static_cast<unsigned>(total[1] / total[2]);
            }
        }
        right = right && assigned == n;
    }
    return work.conclude(centre, 2 * centres, right);
}
