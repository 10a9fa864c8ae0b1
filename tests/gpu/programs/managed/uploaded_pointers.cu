// A kernel finds its arrays through a table of pointers in device memory, which the program has copied there:
// what code has that was written before managed memory and then took to it for its arrays.
#include "tests/gpu/programs/work.hpp"

#include <vector>

constexpr std::size_t arrays = 8;

KERNEL scale(DevicePtr<const DevicePtr<unsigned>> table, std::size_t each) {
    GRID_STRIDE_LOOP(i, arrays * each) {
        const DevicePtr<unsigned> array = table[i / each];
        array[i % each] *= 3;
    }
}

int main(int argc, char** argv) {
    managed::Work work(argc, argv, {128, 16, 8});
    const std::size_t n = work.count<unsigned>(arrays);
    std::vector<DevicePtr<unsigned>> pointers;
    unsigned* array[arrays];
    for (std::size_t each = 0; each < arrays; ++each) {
        pointers.push_back(array[each] = work.allocate<unsigned>(n));
        for (std::size_t i = 0; i < n; ++i)
            array[each][i] = static_cast<unsigned>(i + each);
    }
    DevicePtr<unsigned>* table = nullptr;
    CHECK(cudaMalloc(&table, arrays * sizeof *table));
    CHECK(cudaMemcpy(table, pointers.data(), arrays * sizeof *table, cudaMemcpyHostToDevice));

    while (work.next_round()) {
        for (std::size_t each = 0; each < arrays; ++each)
            if (work.round() == 0 || each % 2 == 0)
                work.to_device(array[each], n);
        LAUNCH(scale, 264, 256, nullptr, table, n);
        for (std::size_t each = 0; each < arrays; each += 2)
            work.to_host(array[each], n);
        CHECK(cudaDeviceSynchronize());
        for (std::size_t each = 0; each < arrays; each += 2)
            for (std::size_t i = 0; i < n; ++i)
                array[each][i] += 1;
    }
    CHECK(cudaFree(table));

    bool right = true;
    for (std::size_t each = 0; each < arrays; ++each) {
        unsigned factor = 1, added = 0; // a round takes x to 3 x, or to 3 x + 1
        for (std::size_t round = 0; round < work.round(); ++round) {
            factor *= 3;
            added = added * 3 + (each % 2 == 0);
        }
        for (std::size_t i = 0; i < n; ++i)
            right = right && array[each][i] == static_cast<unsigned>(i + each) * factor + added;
    }
    return work.conclude(array[0], n, right);
}
