/// What moving memory costs where the trace itself does not tell: measured on one H200 over PCIe 5 (driver 580,
/// CUDA 13.0). Reports name them as such.
#pragma once

#include "residency/prices.hpp"

namespace umadvisor::findings {

inline constexpr residency::Prices prices{};

/// Copies from or to pinned memory, bytes per second.
inline constexpr double pinned_rate = prices.pinned_to_device;

/// Memory sets on the device, bytes per second.
inline constexpr double memory_set_rate = 2.8e12;

/// 256 MiB came to the device by faults in 23 to 40 ms, by prefetch in 5.3 ms; the cautious end of the first.
inline constexpr double fault_to_device_rate = 256.0 * 1024 * 1024 / 23e-3;
inline constexpr double prefetch_to_device_rate = prices.migrate_to_device;
/// 256 MiB came back to the host by faults in 29 ms, by prefetch in 11 ms.
inline constexpr double fault_to_host_rate = 256.0 * 1024 * 1024 / 29e-3;
inline constexpr double prefetch_to_host_rate = prices.migrate_to_host;

/// Time of one fault that moves next to nothing, and of one prefetch call.
inline constexpr double fault_ns = static_cast<double>(prices.host_fault);
inline constexpr double prefetch_call_ns = static_cast<double>(prices.prefetch_call + prices.prefetch_block);

} // namespace umadvisor::findings
