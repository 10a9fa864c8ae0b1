#pragma once

#include "tools/simcuda/driver/driver.hpp"

#include <span>
#include <unordered_set>

namespace simcuda {

/// The kernel that the calling thread is carrying out.
///
/// simcuda runs a kernel's threads one after the other, a GPU runs them side by side: so the touches are only
/// gathered while it runs, each granule once, and are told to the residency model afterwards as one sweep
/// through all allocations at once, step by step: a step is what the threads that fit on the device reach if
/// each reaches one element, its reads before its writes. What is evicted during the sweep stays evicted, and
/// is not fetched again by the same kernel.
class KernelRun {
public:
    KernelRun(int device, const Shape& shape);
    ~KernelRun();
    KernelRun(const KernelRun&) = delete;
    KernelRun& operator=(const KernelRun&) = delete;

    /// See DeviceInterface::touch. Takes the mutex.
    void* touch(std::uint64_t address, bool write);
    void compute(double operations) { operations_ += operations; }
    bool illegal() const { return illegal_; }

    /// Replays the touches from `start` on; returns how long the kernel takes. The caller holds the mutex.
    Nanoseconds finish(Nanoseconds start);

    static KernelRun* current();

private:
    struct Touch {
        std::uint64_t offset; ///< in the allocation: the order of the sweep
        std::uint64_t address;
        std::uint64_t bytes;
        bool write;
        MemoryClass memory;
    };

    using Touches = std::span<const Touch>;

    /// False: nothing is mapped there.
    bool touch_pageable(std::uint64_t page, bool write);
    residency::Cost reach_managed(Touches step, bool write, Nanoseconds now) const;

    residency::Processor processor_;
    std::uint64_t step_bytes_; ///< of an allocation
    std::vector<Touch> touches_;
    std::unordered_set<std::uint64_t> host_granules_;
    std::unordered_set<std::uint64_t> pageable_pages_; ///< times two, plus 1 for writing
    double operations_ = 0;
    bool illegal_ = false;
    KernelRun* outer_;
};

/// What cuGetExportTable gives to compiled device code; only after cuInit.
const DeviceInterface* device_interface();

} // namespace simcuda
