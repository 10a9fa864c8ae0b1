#include "interposer/observe/contexts.hpp"

#include "interposer/attach/real.hpp"
#include "interposer/base/bounded_list.hpp"
#include "interposer/observe/handle_table.hpp"
#include "interposer/record/bounds.hpp"
#include "interposer/record/mutex.hpp"

#include <atomic>

namespace umadvisor::observe {

namespace {

using attach::Entry;
using attach::real;

constinit HandleTable<record::most(record::Bound::contexts)> numbers;
constinit std::atomic<std::uint32_t> last_number{0};
constinit std::atomic<int> devices{0};
constinit std::atomic<bool> joined{false};

/// A further number of a context, given while another thread tried in vain to destroy the context.
struct Alias {
    std::uint16_t number, own;
};
constinit record::Mutex alias_mutex{record::Lock::tables};
constinit base::BoundedList<Alias, 64> aliases;

/// Memory of an alias for which there is no room is not forgotten with its context, but when its address is
/// allocated again.
void note_alias(std::uint16_t number, std::uint16_t own) {
    const record::Guard guard(alias_mutex);
    if (!aliases.full())
        aliases.add({number, own});
}

std::uint64_t handle_of(CUcontext context) {
    return reinterpret_cast<std::uint64_t>(context);
}

/// Devices are in the same table, with keys that no pointer has.
std::uint64_t handle_of(std::uint32_t device) {
    return std::uint64_t{device} + 1;
}

std::uint16_t number_of(std::uint64_t handle) {
    if (handle == 0)
        return 0;
    if (const std::uint64_t known = numbers.find(handle); known != numbers.absent)
        return static_cast<std::uint16_t>(known);
    // If two threads enter a new context at once, the later put wins. Memory that the other thread allocated in
    // between is not forgotten with the context, but when its address is allocated again.
    const std::uint32_t number = last_number.fetch_add(1, std::memory_order_relaxed) + 1;
    if (number > 0xffff || !numbers.put(handle, static_cast<std::uint16_t>(number))) {
        record::reached(record::Bound::contexts);
        return 0;
    }
    return static_cast<std::uint16_t>(number);
}

std::uint16_t retire(std::uint64_t handle) {
    const std::uint64_t known = numbers.find(handle);
    if (handle == 0 || known == numbers.absent)
        return 0;
    numbers.erase(handle);
    return static_cast<std::uint16_t>(known);
}

void restore(std::uint64_t handle, std::uint16_t number) {
    std::uint64_t before = numbers.absent;
    if (number != 0 && numbers.put(handle, number, before) && before != numbers.absent && before != number)
        note_alias(static_cast<std::uint16_t>(before), number);
}

bool several_devices() {
    int count = devices.load(std::memory_order_relaxed);
    if (count == 0 && real<Entry::cuDeviceGetCount>()(&count) == CUDA_SUCCESS)
        devices.store(count, std::memory_order_relaxed);
    return count > 1;
}

} // namespace

std::uint16_t context_number(CUcontext context) noexcept {
    return number_of(handle_of(context));
}

std::uint16_t current_context_number() noexcept {
    CUcontext context = nullptr;
    return real<Entry::cuCtxGetCurrent>()(&context) == CUDA_SUCCESS ? context_number(context)
                                                                    : std::uint16_t{0};
}

std::uint16_t device_number(std::uint32_t device) noexcept {
    return number_of(handle_of(device));
}

std::uint16_t retire_context(CUcontext context) noexcept {
    return retire(handle_of(context));
}

std::uint16_t retire_device(std::uint32_t device) noexcept {
    return retire(handle_of(device));
}

std::uint16_t take_alias(std::uint16_t own) noexcept {
    const record::Guard guard(alias_mutex);
    std::uint16_t number = 0;
    aliases.drop([&](const Alias& each) {
        const bool first = number == 0 && each.own == own;
        number = first ? each.number : number;
        return first;
    });
    return number;
}

void join_context(CUcontext context, CUcontext primary) noexcept {
    restore(handle_of(context), context_number(primary));
    joined.store(true, std::memory_order_relaxed);
}

bool any_is_joined() noexcept {
    return joined.load(std::memory_order_relaxed);
}

void restore_context(CUcontext context, std::uint16_t number) noexcept {
    restore(handle_of(context), number);
}

void restore_device(std::uint32_t device, std::uint16_t number) noexcept {
    restore(handle_of(device), number);
}

std::uint32_t device_of(CUcontext context) noexcept {
    CUdevice device = 0;
    if (context == nullptr || !several_devices())
        return 0;
    if (attach::available(Entry::cuCtxGetDevice_v2))
        return real<Entry::cuCtxGetDevice_v2>()(&device, context) == CUDA_SUCCESS
                   ? static_cast<std::uint32_t>(device)
                   : 0;
    if (real<Entry::cuCtxPushCurrent_v2>()(context) != CUDA_SUCCESS)
        return 0;
    const std::uint32_t found = current_device();
    real<Entry::cuCtxPopCurrent_v2>()(nullptr);
    return found;
}

std::uint32_t current_device() noexcept {
    CUdevice device = 0;
    return several_devices() && real<Entry::cuCtxGetDevice>()(&device) == CUDA_SUCCESS
               ? static_cast<std::uint32_t>(device)
               : 0;
}

std::uint32_t device_of_memory(std::uint64_t address) noexcept {
    if (!several_devices())
        return 0;
    int device = 0;
    // Refused for memory that a graph will make when it is launched.
    if (real<Entry::cuPointerGetAttribute>()(&device, CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL, address) ==
            CUDA_SUCCESS &&
        device >= 0)
        return static_cast<std::uint32_t>(device);
    return current_device();
}

} // namespace umadvisor::observe
