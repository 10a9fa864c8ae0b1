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

KernelRun::KernelRun(int device, Nanoseconds start)
    : processor_(residency::device_processor(static_cast<unsigned>(device))), start_(start), outer_(running) {
    running = this;
    // Each kernel reports its own touches, whatever the one before it had reported.
    driver().epoch.fetch_add(1);
}

KernelRun::~KernelRun() {
    running = outer_;
}

void* KernelRun::touch(std::uint64_t address, bool write) {
    Driver& state = driver();
    const Guard guard(state.mutex);
    const Allocation* found = state.find(address);
    if (!found || found->memory == pageable) {
        if (!illegal_) {
            std::fprintf(stderr, "simcuda: a kernel touched %#llx, which is no device memory\n",
                         static_cast<unsigned long long>(address));
        }
        illegal_ = true;
        ++state.control.illegal_addresses;
        return nowhere;
    }
    const std::uint64_t first =
        std::max(found->address, address / residency::granule_bytes * residency::granule_bytes);
    const std::uint64_t last = std::min(found->address + found->bytes,
                                        (address / residency::granule_bytes + 1) * residency::granule_bytes);
    if (found->memory == managed) {
        const residency::Cost cost = state.memory->touch(
            processor_, first, last - first, write ? residency::Access::write : residency::Access::read,
            start_ + duration());
        faults_ += cost.time;
        remote_bytes_ += cost.remote_bytes;
        local_bytes_ += last - first - std::min(cost.remote_bytes, last - first);
    } else if (found->memory == device_memory) {
        local_bytes_ += last - first;
    } else {
        remote_bytes_ += last - first;
    }
    return state.arena.view(address);
}

Nanoseconds KernelRun::duration() const {
    const residency::Prices& prices = driver().prices;
    const Nanoseconds memory = residency::transfer_time(local_bytes_, prices.device_memory) +
                               residency::transfer_time(remote_bytes_, prices.remote_access);
    const auto arithmetic = static_cast<Nanoseconds>(operations_ * 1e9 / prices.device_operations);
    return prices.kernel_minimum + faults_ + std::max(memory, arithmetic);
}

const DeviceInterface* device_interface() {
    static constexpr DeviceInterface table{sizeof(DeviceInterface),
                                           [](std::uint64_t address, bool write) -> void* {
                                               KernelRun* run = KernelRun::current();
                                               return run ? run->touch(address, write) : nowhere;
                                           },
                                           []() -> const std::uint64_t* {
                                               static_assert(sizeof(std::atomic<std::uint64_t>) ==
                                                             sizeof(std::uint64_t));
                                               return reinterpret_cast<const std::uint64_t*>(&driver().epoch);
                                           },
                                           [](double operations) {
                                               if (KernelRun* run = KernelRun::current()) {
                                                   run->compute(operations);
                                               }
                                           }};
    return &table;
}

} // namespace simcuda
