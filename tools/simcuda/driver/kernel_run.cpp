#include "tools/simcuda/driver/kernel_run.hpp"

#include <algorithm>
#include <cstdio>

namespace simcuda {

namespace {
thread_local KernelRun* running = nullptr;
// Where illegal accesses end up: the kernel goes on, as other threads of a real one do for a while.
alignas(64) thread_local char nowhere[4096];
} // namespace

KernelRun* KernelRun::current() {
    return running;
}

KernelRun::KernelRun(int device)
    : processor_(residency::device_processor(static_cast<unsigned>(device))), outer_(running) {
    running = this;
    driver().epoch.fetch_add(1);
}

KernelRun::~KernelRun() {
    running = outer_;
}

void* KernelRun::touch(std::uint64_t address, bool write) {
    constexpr std::uint64_t granule = residency::granule_bytes;
    Driver& state = driver();
    const Guard guard(state.mutex);
    const Allocation* found = state.find(address);
    if (!found) {
        if (!illegal_) {
            std::fprintf(stderr, "simcuda: a kernel touched %#llx, which is no device memory\n",
                         static_cast<unsigned long long>(address));
        }
        illegal_ = true;
        ++state.control.illegal_addresses;
        return nowhere;
    }
    const std::uint64_t first = std::max(found->address, address / granule * granule);
    const std::uint64_t last = std::min(found->address + found->bytes, (address / granule + 1) * granule);
    if (!state.arena.holds(address)) {
        // Pinned host memory has no table of what is touched.
        if (!host_granules_.insert(address / granule * 2 + (write ? 1 : 0)).second) {
            return reinterpret_cast<void*>(address);
        }
    } else {
        const std::uint64_t number = (address - state.arena.device_begin()) / granule;
        state.touched[number * 2 + (write ? 1 : 0)].store(state.epoch.load(), std::memory_order_relaxed);
    }
    touches_.push_back({first - found->address, first, last - first, write, found->memory});
    return state.arena.view(address);
}

Nanoseconds KernelRun::finish(Nanoseconds start) {
    Driver& state = driver();
    const residency::Prices& prices = state.prices;
    std::stable_sort(touches_.begin(), touches_.end(),
                     [](const Touch& left, const Touch& right) { return left.offset < right.offset; });
    std::uint64_t local_bytes = 0;
    std::uint64_t remote_bytes = 0;
    Nanoseconds faults = 0;
    const auto duration = [&] {
        const Nanoseconds memory = residency::transfer_time(local_bytes, prices.device_memory) +
                                   residency::transfer_time(remote_bytes, prices.remote_access);
        const auto arithmetic = static_cast<Nanoseconds>(operations_ * 1e9 / prices.device_operations);
        return prices.kernel_minimum + faults + std::max(memory, arithmetic);
    };
    for (const Touch& touch : touches_) {
        residency::Cost cost;
        if (touch.memory == managed) {
            cost = state.memory->touch(processor_, touch.address, touch.bytes,
                                       touch.write ? residency::Access::write : residency::Access::read,
                                       start + duration());
        } else if (touch.memory != device_memory) {
            cost.remote_bytes = touch.bytes;
        }
        faults += cost.time;
        remote_bytes += cost.remote_bytes;
        local_bytes += touch.bytes - std::min(cost.remote_bytes, touch.bytes);
    }
    return duration();
}

const DeviceInterface* device_interface() {
    static_assert(sizeof(std::atomic<std::uint64_t>) == sizeof(std::uint64_t));
    const Driver& state = driver();
    static const DeviceInterface table{state.arena.device_begin(),
                                       Arena::bytes(),
                                       state.arena.distance(),
                                       reinterpret_cast<const std::uint64_t*>(state.touched),
                                       reinterpret_cast<const std::uint64_t*>(&state.epoch),
                                       [](std::uint64_t address, bool write) -> void* {
                                           KernelRun* run = KernelRun::current();
                                           return run ? run->touch(address, write) : nowhere;
                                       },
                                       [](double operations) {
                                           if (KernelRun* run = KernelRun::current()) {
                                               run->compute(operations);
                                           }
                                       }};
    return &table;
}

} // namespace simcuda
