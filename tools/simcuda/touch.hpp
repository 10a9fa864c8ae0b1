#pragma once

#include "tools/simcuda/runtime/device_code.hpp"

#include <cstdint>

namespace simcuda {

// Before the first touch: no address is inside, so that it calls.
inline constexpr DeviceInterface no_device{};
inline constinit const DeviceInterface* device_interface = &no_device;

inline const DeviceInterface& find_device_interface() {
    if (device_interface == &no_device) {
        device_interface = simcudart_device_interface();
    }
    return *device_interface;
}

[[gnu::noinline]] inline char* report_touch(std::uint64_t address, bool write) {
    return static_cast<char*>(find_device_interface().touch(address, write));
}

/// Where the host reaches device address `address`; the first touch of a 64 KiB granule by a kernel is
/// reported.
inline char* reach(std::uint64_t address, bool write) {
    const DeviceInterface& device = *device_interface;
    const std::uint64_t offset = address - device.begin;
    if (offset < device.bytes) [[likely]] {
        const std::uint64_t* touched = &device.touched[(offset >> 16) * 2 + (write ? 1 : 0)];
        if (__atomic_load_n(touched, __ATOMIC_RELAXED) == __atomic_load_n(device.epoch, __ATOMIC_RELAXED))
            [[likely]] {
            return reinterpret_cast<char*>(address + device.distance);
        }
    }
    return report_touch(address, write);
}

inline void compute(double operations) {
    find_device_interface().compute(operations);
}

} // namespace simcuda
