#pragma once

#include "tools/simcuda/runtime/device_code.hpp"

#include <cstdint>

namespace simcuda {

/// Remembers which 64 KiB granules the calling thread's kernel has touched already, so that a touch costs a
/// compare and not a call. The driver ends the memory by raising the epoch.
struct TouchCache {
    struct Line {
        std::uint64_t tag;
        std::uint64_t epoch;
        std::uint64_t distance; ///< from a device address to where the host can reach it
    };
    static constexpr unsigned lines = 256;
    Line line[lines];
};

inline constinit thread_local TouchCache touch_cache{};
inline constexpr std::uint64_t no_epoch = ~0ull;
inline constinit const std::uint64_t* touch_epoch = &no_epoch;
inline constinit const DeviceInterface* device_interface_table = nullptr;

inline const DeviceInterface& device_interface() {
    if (!device_interface_table) {
        device_interface_table = simcudart_device_interface();
        touch_epoch = device_interface_table->epoch();
    }
    return *device_interface_table;
}

[[gnu::noinline]] inline char* touch_granule(std::uint64_t address, bool write, TouchCache::Line& line) {
    // The epoch is read first: what the touch itself displaces must not count as remembered.
    const DeviceInterface& device = device_interface();
    auto* reached = static_cast<char*>(device.touch(address, write));
    line = {(address >> 16 << 1) | (write ? 1u : 0u), __atomic_load_n(touch_epoch, __ATOMIC_RELAXED),
            reinterpret_cast<std::uint64_t>(reached) - address};
    return reached;
}

/// Where the host reaches device address `address`; reports the touch.
inline char* reach(std::uint64_t address, bool write) {
    const std::uint64_t tag = (address >> 16 << 1) | (write ? 1u : 0u);
    TouchCache::Line& line = touch_cache.line[tag % TouchCache::lines];
    if (line.tag == tag && line.epoch == __atomic_load_n(touch_epoch, __ATOMIC_RELAXED)) [[likely]] {
        return reinterpret_cast<char*>(address + line.distance);
    }
    return touch_granule(address, write, line);
}

inline void compute(double operations) {
    device_interface().compute(operations);
}

} // namespace simcuda
