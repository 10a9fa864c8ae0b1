// A card that several processes share: what each holds is added up in a file that all have mapped.
#include "tools/simcuda/driver/card.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cstdio>

namespace simcuda {
namespace {

constexpr std::size_t most_devices = 8;

/// Guarded by the driver's mutex, but for the sums.
struct Card {
    std::atomic<std::uint64_t>* sums = nullptr; ///< of all processes; null: the card is this process's alone
    std::array<std::uint64_t, most_devices> published{};
};
Card card;

bool is_shared(int device) {
    return card.sums != nullptr && static_cast<std::size_t>(device) < most_devices;
}

} // namespace

void share_card(const std::string& file) {
    constexpr std::size_t bytes = most_devices * sizeof(std::uint64_t);
    const int opened = open(file.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    void* const mapped = opened >= 0 && ftruncate(opened, bytes) == 0
                             ? mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, opened, 0)
                             : MAP_FAILED;
    close(opened);
    if (mapped == MAP_FAILED) {
        std::fprintf(stderr, "simcuda: cannot share %s\n", file.c_str());
        return;
    }
    card.sums = static_cast<std::atomic<std::uint64_t>*>(mapped);
}

void publish_use(int device, std::uint64_t bytes) {
    if (is_shared(device)) {
        std::uint64_t& published = card.published[static_cast<std::size_t>(device)];
        card.sums[device].fetch_add(bytes - published);
        published = bytes;
    }
}

std::uint64_t used_by_others(int device) {
    return is_shared(device) ? card.sums[device].load() - card.published[static_cast<std::size_t>(device)] : 0;
}

} // namespace simcuda
