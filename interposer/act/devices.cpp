#include "interposer/act/devices.hpp"

#include "interposer/act/stand_ins.hpp"
#include "interposer/attach/real.hpp"

#include <algorithm>
#include <atomic>
#include <bit>

namespace umadvisor::act {

namespace {

constexpr std::uint64_t unseen = ~std::uint64_t{0};

using attach::Entry;
using attach::real;

struct Device {
    std::atomic<std::uint64_t> memory_bytes{0}, rewritten_bytes{0}, plain_bytes{0};
    /// Memory of contexts and other processes, the least that was seen. What is seen may be too much: when
    /// managed memory migrates to the host, the driver keeps its device memory reserved.
    std::atomic<std::uint64_t> other_bytes{unseen};
    std::atomic<bool> left_alone{true};
};

constinit Device devices[policy::max_devices];
constinit std::atomic<std::uint64_t> rewritten_everywhere{0};
constinit std::atomic<std::uint64_t> pretended{0};
constinit std::atomic<bool> learned{false};

bool seen(const Device& device) {
    return device.other_bytes.load(std::memory_order_relaxed) != unseen;
}

std::uint64_t others(const Device& device) {
    return seen(device) ? device.other_bytes.load(std::memory_order_relaxed) : 0;
}

/// `held` bytes of managed memory are on the device, which is that of the current context.
void look_at_others(Device& device, std::uint64_t held) {
    std::size_t free = 0, total = 0;
    if (real<Entry::cuMemGetInfo_v2>() == nullptr ||
        real<Entry::cuMemGetInfo_v2>()(&free, &total) != CUDA_SUCCESS || free > total)
        return;
    const std::uint64_t used = total - free, own = held + device.plain_bytes.load(std::memory_order_relaxed);
    device.other_bytes.store(
        std::min(device.other_bytes.load(std::memory_order_relaxed), used - std::min(used, own)),
        std::memory_order_relaxed);
}

bool has(CUdevice_attribute attribute, CUdevice device) {
    int value = 0;
    return real<Entry::cuDeviceGetAttribute>()(&value, attribute, device) == CUDA_SUCCESS && value != 0;
}

/// The pitch unit for a card that is too full to ask. It is that of an H200, and a multiple of every unit that
/// programs rely on.
constexpr std::size_t usual_unit = 512;

/// The driver accepts 4, 8 and 16 bytes.
constexpr unsigned elements = 3;
constinit std::atomic<std::size_t> units[policy::max_devices][elements];

std::size_t ask_unit(unsigned element) {
    CUdeviceptr row = 0;
    std::size_t pitch = 0;
    const CUresult answer = real<Entry::cuMemAllocPitch_v2>()(&row, &pitch, element, 1, element);
    if (answer != CUDA_SUCCESS)
        return answer == CUDA_ERROR_OUT_OF_MEMORY ? usual_unit : 0;
    real<Entry::cuMemFree_v2>()(row);
    return std::has_single_bit(pitch) ? pitch : 0;
}

/// Device memory that was not rewritten was allocated or freed.
template <class Change>
void count(const observe::Allocation& allocation, Change change) {
    if (allocation.fills_card && allocation.device < policy::max_devices)
        change(devices[allocation.device].plain_bytes, allocation.bytes);
}
} // namespace

DeviceCount learn_devices(const runtime::Options& options) noexcept {
    pretended.store(options.pretend_bytes, std::memory_order_relaxed);
    DeviceCount found;
    if (real<Entry::cuDeviceGetCount>()(&found.all) != CUDA_SUCCESS)
        found.all = 0;
    for (int ordinal = 0; ordinal < std::min(found.all, policy::max_devices); ++ordinal) {
        CUdevice device = 0;
        std::size_t bytes = 0;
        if (real<Entry::cuDeviceGet>()(&device, ordinal) != CUDA_SUCCESS || device < 0 ||
            device >= policy::max_devices)
            continue;
        if (real<Entry::cuDeviceTotalMem_v2>()(&bytes, device) != CUDA_SUCCESS)
            continue;
        const bool one_pool = has(CU_DEVICE_ATTRIBUTE_INTEGRATED, device);
        const bool able = !one_pool && has(CU_DEVICE_ATTRIBUTE_CONCURRENT_MANAGED_ACCESS, device);
        const bool coherent =
            !one_pool && has(CU_DEVICE_ATTRIBUTE_PAGEABLE_MEMORY_ACCESS_USES_HOST_PAGE_TABLES, device);
        found.read_host += has(CU_DEVICE_ATTRIBUTE_PAGEABLE_MEMORY_ACCESS_USES_HOST_PAGE_TABLES, device);
        devices[device].memory_bytes.store(bytes, std::memory_order_relaxed);
        devices[device].left_alone.store(!able, std::memory_order_relaxed);
        found.able += able;
        found.one_pool += one_pool;
        found.coherent += coherent;
        found.hmm += !one_pool && !coherent && has(CU_DEVICE_ATTRIBUTE_PAGEABLE_MEMORY_ACCESS, device);
    }
    learned.store(true, std::memory_order_release);
    return found;
}

CUdevice current_device() noexcept {
    CUdevice device = -1;
    if (real<Entry::cuCtxGetDevice>()(&device) != CUDA_SUCCESS || device < 0 || device >= policy::max_devices)
        return -1;
    return devices[device].left_alone.load(std::memory_order_relaxed) ? -1 : device;
}

CUcontext current_context_of(CUstream stream) noexcept {
    CUcontext current = nullptr, of_stream = nullptr;
    return real<Entry::cuCtxGetCurrent>()(&current) == CUDA_SUCCESS &&
                   real<Entry::cuStreamGetCtx>()(stream, &of_stream) == CUDA_SUCCESS && current == of_stream
               ? current
               : nullptr;
}

policy::DeviceState state_of(CUdevice device) noexcept {
    const Device& known = devices[device];
    const std::uint64_t card = known.memory_bytes.load(std::memory_order_relaxed);
    const std::uint64_t smaller = pretended.load(std::memory_order_relaxed);
    return {smaller != 0 ? std::min(smaller, card) : card,
            known.rewritten_bytes.load(std::memory_order_relaxed),
            known.plain_bytes.load(std::memory_order_relaxed), smaller != 0 ? 0 : others(known)};
}

std::uint64_t managed_capacity(CUdevice device) noexcept {
    const policy::DeviceState state = state_of(device);
    return state.memory_bytes - std::min(state.memory_bytes, state.plain_bytes + state.other_bytes);
}

void note_others_for(CUdevice device, std::uint64_t held, std::uint64_t needed) noexcept {
    Device& known = devices[device];
    if (pretended.load(std::memory_order_relaxed) == 0 &&
        (!seen(known) || (held + needed) / 4 * 5 >= managed_capacity(device)))
        look_at_others(known, held);
}

void note_others(CUdevice device) noexcept {
    if (!seen(devices[device]))
        look_at_others(devices[device], 0);
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

bool pretended_card_is_full(std::uint64_t bytes) noexcept {
    if (pretended.load(std::memory_order_relaxed) == 0)
        return false;
    const CUdevice device = current_device();
    return device >= 0 && bytes > policy::room_of(state_of(device));
}

void add_kept_memory(std::size_t* free) noexcept {
    CUdevice device = 0;
    if (free != nullptr && acting() && real<Entry::cuCtxGetDevice>()(&device) == CUDA_SUCCESS)
        *free += kept(device).device_bytes;
}

void adjust_memory_info(std::size_t* free, std::size_t* total) noexcept {
    if (!learned.load(std::memory_order_acquire))
        return;
    const std::uint64_t smaller = pretended.load(std::memory_order_relaxed);
    CUdevice device = 0;
    if (free != nullptr &&
        (real<Entry::cuCtxGetDevice>()(&device) != CUDA_SUCCESS || device < 0 || device >= policy::max_devices))
        return;
    const std::uint64_t card =
        total != nullptr ? *total : devices[device].memory_bytes.load(std::memory_order_relaxed);
    const Device& known = devices[device];
    const std::uint64_t rewritten = known.rewritten_bytes.load(std::memory_order_relaxed);
    // Without rewritten memory the driver's answer stands: the memory of others may have been freed since.
    const std::uint64_t held =
        rewritten == 0 ? 0 : rewritten + others(known) + known.plain_bytes.load(std::memory_order_relaxed);
    const policy::MemoryInfo shown = policy::pretend({free != nullptr ? *free : 0, card}, smaller, held);
    if (free != nullptr)
        *free = shown.free;
    if (total != nullptr)
        *total = shown.total;
}

std::size_t pitch_of(CUdevice device, std::size_t width, unsigned element) noexcept {
    if ((element != 4 && element != 8 && element != 16) || width == 0)
        return 0;
    std::atomic<std::size_t>& known = units[device][std::countr_zero(element) - 2];
    std::size_t unit = known.load(std::memory_order_relaxed);
    if (unit == 0)
        known.store(unit = ask_unit(element), std::memory_order_relaxed);
    return unit == 0 || width > SIZE_MAX - (unit - 1) ? 0 : (width + unit - 1) & ~(unit - 1);
}

/// Counts device memory for all actions on managed memory.
constinit Action counting{
    .name = "count",
    .start = [](const runtime::Options& options,
                const DeviceCount&) noexcept { return options.asks(&trace::ActModeText::managed); },
    .on_allocation =
        [](const observe::Allocation& allocation, std::uint64_t) noexcept {
            count(allocation, [](auto& total, std::uint64_t bytes) { total.fetch_add(bytes); });
        },
    .on_free =
        [](const observe::Allocation& allocation) noexcept {
            // Memory allocated before the start was not counted.
            count(allocation, [](auto& total, std::uint64_t bytes) {
                std::uint64_t now = total.load();
                while (!total.compare_exchange_weak(now, now - std::min(now, bytes))) {
                }
            });
        },
};

} // namespace umadvisor::act
