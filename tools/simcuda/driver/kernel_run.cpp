#include "tools/simcuda/driver/kernel_run.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdio>
#include <memory>
#include <sys/uio.h>
#include <unistd.h>

namespace simcuda {

namespace {
thread_local KernelRun* running = nullptr;

// Where illegal accesses end up: the kernel goes on, as other threads of a real one do for a while. Not in
// thread-local storage, which is cut from the stack of every thread, and programs have threads with small ones.
void* nowhere() {
    static thread_local std::unique_ptr<std::max_align_t[]> memory;
    if (!memory) {
        memory = std::make_unique<std::max_align_t[]>(4096 / sizeof(std::max_align_t));
    }
    return memory.get();
}

constexpr std::uint64_t resident_threads = 132 * 2048; ///< of an H200
constexpr std::uint64_t element_bytes = 4;

/// Whether the host could read it: a kernel that reaches the host's page tables fails where the host would.
bool is_readable(std::uint64_t address) {
    char byte = 0;
    const iovec to{&byte, 1};
    const iovec from{reinterpret_cast<void*>(address), 1};
    return process_vm_readv(getpid(), &to, 1, &from, 1, 0) == 1;
}

std::uint64_t threads_of(const Shape& shape) {
    std::uint64_t threads = 1;
    for (unsigned axis = 0; axis < 3; ++axis) {
        threads *= std::uint64_t{shape.grid[axis]} * shape.block[axis];
    }
    return threads;
}
} // namespace

KernelRun* KernelRun::current() {
    return running;
}

KernelRun::KernelRun(int device, const Shape& shape)
    : processor_(residency::device_processor(static_cast<unsigned>(device))),
      step_bytes_(std::min(threads_of(shape), resident_threads) * element_bytes),
      outer_(running) {
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
    if (!found && state.config.reaches_pageable() && touch_pageable(address / residency::page_bytes, write)) {
        return reinterpret_cast<void*>(address);
    }
    if (!found) {
        if (!illegal_) {
            std::fprintf(stderr, "simcuda: a kernel touched %#llx, which is no device memory\n",
                         static_cast<unsigned long long>(address));
        }
        illegal_ = true;
        ++state.control.illegal_addresses;
        return nowhere();
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

bool KernelRun::touch_pageable(std::uint64_t page, bool write) {
    const std::uint64_t key = page * 2 + (write ? 1 : 0), address = page * residency::page_bytes;
    if (pageable_pages_.contains(key)) {
        return true;
    }
    if (!is_readable(address)) {
        return false;
    }
    pageable_pages_.insert(key);
    touches_.push_back({address, address, residency::page_bytes, write, pageable});
    return true;
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
    const auto last = touches_.end();
    for (auto first = touches_.begin(); first != last;) {
        const std::uint64_t number = first->offset / step_bytes_;
        const auto end =
            std::find_if(first, last, [&](const Touch& touch) { return touch.offset / step_bytes_ != number; });
        const Touches step(first, end);
        std::uint64_t bytes = 0;
        std::uint64_t bytes_afar = 0;
        for (const Touch& touch : step) {
            bytes += touch.bytes;
            bytes_afar += touch.memory == managed || touch.memory == device_memory || state.config.is_one_pool()
                              ? 0
                              : touch.bytes;
        }
        for (const bool write : {false, true}) {
            if (state.config.is_one_pool()) {
                break;
            }
            const residency::Cost cost = reach_managed(step, write, start + duration());
            faults += cost.time;
            bytes_afar += cost.remote_bytes;
        }
        remote_bytes += bytes_afar;
        local_bytes += bytes - std::min(bytes_afar, bytes);
        first = end;
    }
    return duration();
}

residency::Cost KernelRun::reach_managed(Touches step, bool write, Nanoseconds now) const {
    std::vector<residency::Part> parts;
    for (const Touch& touch : step) {
        if (touch.memory == managed && touch.write == write) {
            parts.push_back({touch.address, touch.bytes});
        }
    }
    return driver().memory->touch_together(processor_, parts,
                                           write ? residency::Access::write : residency::Access::read, now);
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
                                           return run ? run->touch(address, write) : nowhere();
                                       },
                                       [](double operations) {
                                           if (KernelRun* run = KernelRun::current()) {
                                               run->compute(operations);
                                           }
                                       }};
    return &table;
}

} // namespace simcuda
