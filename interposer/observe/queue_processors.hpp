/// The numbers of processors: the driver's kernel module has its own.
#pragma once

#include "interposer/attach/entries.hpp"
#include "interposer/observe/tools_device.hpp"

#include <array>
#include <cstdint>

namespace umadvisor::observe {

inline constexpr std::uint32_t most_processors = 64;

/// The driver's devices, by ordinal.
struct QueueDevices {
    int count = 0;
    CUuuid uuids[most_processors];

    /// Asks the driver. To be called without a lock.
    void look() noexcept;
};

/// Not thread-safe: the owner's lock covers it.
class QueueProcessors {
public:
    /// Learns the module's numbers, which it gives in the order in which devices were registered.
    void learn(const QueueDevices& devices, const ToolsTracker& tracker) noexcept;

    /// The number that traces have for one of the module's.
    std::uint8_t operator[](std::uint32_t number) const noexcept { return of_[number % most_processors]; }

private:
    std::array<std::uint8_t, most_processors> of_{};
};

} // namespace umadvisor::observe
