// A list in managed memory whose nodes hold pointers to other managed arrays. The kernel gets its head; the
// host changes the nodes and reads the array of the last one.
#include "tests/gpu/programs/work.hpp"

struct Node {
    DevicePtr<unsigned> data;
    DevicePtr<const Node> next;
    std::size_t count;
    unsigned weight;
};

KERNEL advance(DevicePtr<const Node> head) {
    for (DevicePtr<const Node> at = head; at;) {
        const Node node = at[0];
        GRID_STRIDE_LOOP(i, node.count) {
            node.data[i] += node.weight;
        }
        at = node.next;
    }
}

int main(int argc, char** argv) {
    managed::Work work(argc, argv, {128, 16, 8});
    constexpr std::size_t length = 16;
    const std::size_t n = work.count<unsigned>(length);
    auto* const node = work.allocate<Node>(length);
    unsigned* data[length];
    for (std::size_t each = 0; each < length; ++each) {
        data[each] = work.allocate<unsigned>(n);
        for (std::size_t i = 0; i < n; ++i)
            data[each][i] = static_cast<unsigned>(i);
        node[each] = {data[each], each + 1 < length ? node + each + 1 : nullptr, n,
                      static_cast<unsigned>(each)};
    }
    unsigned* const last = data[length - 1];

    unsigned sum = 0;
    while (work.next_round()) {
        work.to_device(node, length);
        for (auto* const each : data)
            if (work.round() == 0 || each == last)
                work.to_device(each, n);
        LAUNCH(advance, 264, 256, nullptr, node);
        work.to_host(node, length);
        work.to_host(last, n);
        CHECK(cudaDeviceSynchronize());
        for (std::size_t i = 0; i < n; ++i)
            sum += last[i];
        for (std::size_t each = 0; each < length; ++each)
            node[each].weight += sum % 3;
    }

    // All nodes were given the same weights but for what each began with.
    bool right = true;
    for (std::size_t each = 0; each < length; ++each)
        for (std::size_t i = 0; i < n; ++i)
            right = right && data[each][i] == data[0][i] + static_cast<unsigned>(each * work.round());
    std::printf("sum %u\n", sum);
    return work.conclude(last, n, right);
}
