/// Which NUMA node host memory lies on, or a device is next to. Nodes are given plus 1, as traces have them; 0:
/// not known.
#pragma once

#include "interposer/attach/entries.hpp"

#include <cstdint>

namespace umadvisor::observe {

/// Of the CPU that the calling thread runs on (getcpu(2)): what the driver allocates for the thread comes from
/// there, unless the thread has a memory policy. Pages that are a mapping of a device have no node to ask for.
std::uint64_t node_of_thread() noexcept;

/// Of the page that holds `address`, which has to be in memory (move_pages(2), which moves nothing here).
std::uint64_t node_of_page(std::uint64_t address) noexcept;

/// Next to the device. Not known by a driver older than the attribute (12.2) or where there are no nodes.
std::uint64_t node_of_device(CUdevice device) noexcept;

} // namespace umadvisor::observe
