// A kernel finds its arrays through a table of pointers that lies in managed memory itself: no parameter names
// them.
#include "tests/gpu/programs/work.hpp"

constexpr std::size_t arrays = 16;

KERNEL advance(DevicePtr<const DevicePtr<unsigned>> table, std::size_t each) {
    GRID_STRIDE_LOOP(i, arrays * each) {
        const DevicePtr<unsigned> array = table[i / each];
        array[i % each] += static_cast<unsigned>(i / each);
    }
}

int main(int argc, char** argv) {
    managed::Work work(argc, argv, {128, 16, 8});
    const std::size_t n = work.count<unsigned>(arrays);
    auto* const table = work.allocate<DevicePtr<unsigned>>(arrays);
    unsigned* array[arrays];
    for (std::size_t each = 0; each < arrays; ++each) {
        table[each] = array[each] = work.allocate<unsigned>(n);
        for (std::size_t i = 0; i < n; ++i)
            array[each][i] = static_cast<unsigned>(i);
    }

    while (work.next_round()) {
        if (work.round() == 0)
            work.to_device(table, arrays);
        for (std::size_t each = 0; each < arrays; ++each)
            if (work.round() == 0 || each % 4 == 0)
                work.to_device(array[each], n);
        LAUNCH(advance, 264, 256, nullptr, table, n);
        for (std::size_t each = 0; each < arrays; each += 4)
            work.to_host(array[each], n);
        CHECK(cudaDeviceSynchronize());
        for (std::size_t each = 0; each < arrays; each += 4)
            for (std::size_t i = 0; i < n; ++i)
                array[each][i] += 1;
    }

    bool right = true;
    const auto rounds = static_cast<unsigned>(work.round());
    for (std::size_t each = 0; each < arrays; ++each)
        for (std::size_t i = 0; i < n; ++i)
            right =
                right && array[each][i] == static_cast<unsigned>(i + each * rounds) + (each % 4 ? 0 : rounds);
    return work.conclude(array[0], n, right);
}
