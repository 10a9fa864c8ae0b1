#include "interposer/act/devices.hpp"

#include "interposer/attach/real.hpp"

#include <algorithm>
#include <atomic>

namespace umadvisor::act {

namespace {

using attach::Entry;
using attach::real;

struct Device {
    std::atomic<std::uint64_t> memory_bytes{0}, rewritten_bytes{0}, plain_bytes{0};
    std::atomic<std::uint64_t> other_bytes{0}; ///< that are not managed, when the driver was last asked
    std::atomic<bool> concurrent_managed_access{false};
};

constinit Device devices[max_devices];
constinit std::atomic<std::uint64_t> rewritten_everywhere{0};
constinit std::atomic<std::uint64_t> pretended{0};
constinit std::atomic<bool> learned{false};

} // namespace

DeviceCount learn_devices(const runtime::Options& options) noexcept {
    pretended.store(options.pretend_bytes, std::memory_order_relaxed);
    int count = 0, able = 0;
    if (real<Entry::cuDeviceGetCount>()(&count) != CUDA_SUCCESS)
        count = 0;
    for (int ordinal = 0; ordinal < std::min(count, max_devices); ++ordinal) {
        CUdevice device = 0;
        std::size_t bytes = 0;
        int concurrent = 0;
        if (real<Entry::cuDeviceGet>()(&device, ordinal) != CUDA_SUCCESS || device < 0 || device >= max_devices)
            continue;
        real<Entry::cuDeviceTotalMem_v2>()(&bytes, device);
        real<Entry::cuDeviceGetAttribute>()(&concurrent, CU_DEVICE_ATTRIBUTE_CONCURRENT_MANAGED_ACCESS, device);
        devices[device].memory_bytes.store(bytes, std::memory_order_relaxed);
        devices[device].concurrent_managed_access.store(concurrent != 0, std::memory_order_relaxed);
        able += concurrent != 0;
    }
    learned.store(true, std::memory_order_release);
    return {count, able};
}

CUdevice current_device() noexcept {
    CUdevice device = -1;
    if (real<Entry::cuCtxGetDevice>()(&device) != CUDA_SUCCESS || device < 0 || device >= max_devices)
        return -1;
    return devices[device].concurrent_managed_access.load(std::memory_order_relaxed) ? device : -1;
}

DeviceState state_of(CUdevice device) noexcept {
    const Device& known = devices[device];
    const std::uint64_t card = known.memory_bytes.load(std::memory_order_relaxed);
    const std::uint64_t smaller = pretended.load(std::memory_order_relaxed);
    return {smaller != 0 ? std::min(smaller, card) : card,
            known.rewritten_bytes.load(std::memory_order_relaxed),
            known.plain_bytes.load(std::memory_order_relaxed)};
}

std::uint64_t managed_capacity(CUdevice device, std::uint64_t held, std::uint64_t wanted) noexcept {
    Device& known = devices[device];
    const DeviceState state = state_of(device);
    const std::uint64_t card = state.memory_bytes;
    if (pretended.load(std::memory_order_relaxed) != 0)
        return card - std::min(card, state.plain_bytes);
    const auto beside = [&] {
        return card - std::min(card, known.other_bytes.load(std::memory_order_relaxed));
    };
    std::size_t free = 0, total = 0;
    if ((held + wanted) / 4 * 5 >= beside() && real<Entry::cuMemGetInfo_v2>() != nullptr &&
        real<Entry::cuMemGetInfo_v2>()(&free, &total) == CUDA_SUCCESS && free <= total) {
        const std::uint64_t used = total - free;
        known.other_bytes.store(used - std::min(used, held), std::memory_order_relaxed);
    }
    return beside();
}

bool reserve_rewritten(CUdevice device, std::uint64_t bytes, Budget budget) noexcept {
    std::atomic<std::uint64_t>& here = devices[device].rewritten_bytes;
    std::atomic<std::uint64_t>& counted = budget.of_all_devices ? rewritten_everywhere : here;
    std::uint64_t before = counted.load(std::memory_order_relaxed);
    do {
        if (before > budget.bytes || bytes > budget.bytes - before)
            return false;
    } while (!counted.compare_exchange_weak(before, before + bytes, std::memory_order_relaxed));
    (budget.of_all_devices ? here : rewritten_everywhere).fetch_add(bytes, std::memory_order_relaxed);
    return true;
}

void remove_rewritten(CUdevice device, std::uint64_t bytes) noexcept {
    devices[device].rewritten_bytes.fetch_sub(bytes, std::memory_order_relaxed);
    rewritten_everywhere.fetch_sub(bytes, std::memory_order_relaxed);
}

void add_plain(std::uint32_t device, std::uint64_t bytes) noexcept {
    if (device < max_devices)
        devices[device].plain_bytes.fetch_add(bytes, std::memory_order_relaxed);
}

void remove_plain(std::uint32_t device, std::uint64_t bytes) noexcept {
    if (device < max_devices)
        devices[device].plain_bytes.fetch_sub(bytes, std::memory_order_relaxed);
}

bool pretended_card_is_full(std::uint64_t bytes) noexcept {
    if (pretended.load(std::memory_order_relaxed) == 0)
        return false;
    const CUdevice device = current_device();
    return device >= 0 && bytes > room_of(state_of(device));
}

void adjust_memory_info(std::size_t* free, std::size_t* total) noexcept {
    if (!learned.load(std::memory_order_acquire))
        return;
    const std::uint64_t smaller = pretended.load(std::memory_order_relaxed);
    CUdevice device = 0;
    if (free != nullptr &&
        (real<Entry::cuCtxGetDevice>()(&device) != CUDA_SUCCESS || device < 0 || device >= max_devices))
        return;
    const std::uint64_t card =
        total != nullptr ? *total : devices[device].memory_bytes.load(std::memory_order_relaxed);
    const MemoryInfo seen = pretend({free != nullptr ? *free : 0, card}, smaller,
                                    devices[device].rewritten_bytes.load(std::memory_order_relaxed));
    if (free != nullptr)
        *free = seen.free;
    if (total != nullptr)
        *total = seen.total;
}

} // namespace umadvisor::act
