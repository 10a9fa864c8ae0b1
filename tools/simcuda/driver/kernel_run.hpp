#pragma once

#include "tools/simcuda/driver/driver.hpp"

namespace simcuda {

/// The kernel that the calling thread is carrying out: gathers what its touches cost.
class KernelRun {
public:
    KernelRun(int device, Nanoseconds start);
    ~KernelRun();
    KernelRun(const KernelRun&) = delete;
    KernelRun& operator=(const KernelRun&) = delete;

    /// See DeviceInterface::touch.
    void* touch(std::uint64_t address, bool write);
    void compute(double operations) { operations_ += operations; }
    bool illegal() const { return illegal_; }
    Nanoseconds duration() const;

    static KernelRun* current();

private:
    residency::Processor processor_;
    Nanoseconds start_;
    Nanoseconds faults_ = 0;
    std::uint64_t local_bytes_ = 0;
    std::uint64_t remote_bytes_ = 0;
    double operations_ = 0;
    bool illegal_ = false;
    KernelRun* outer_;
};

/// What cuGetExportTable gives to compiled device code.
const DeviceInterface* device_interface();

} // namespace simcuda
