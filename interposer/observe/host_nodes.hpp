/// The NUMA nodes of host memory, threads and devices. Nodes are given plus 1, as in traces; 0: not known.
#pragma once

#include "interposer/attach/entries.hpp"

#include <cstdint>

namespace umadvisor::observe {

/// The node of the CPU that the calling thread runs on (getcpu(2)): the driver allocates there for the thread,
/// unless the thread has a memory policy. The node of pages that a device has mapped cannot be asked for.
std::uint64_t node_of_thread() noexcept;

/// The node of the page that holds `address`, which has to be in memory (move_pages(2), which moves nothing
/// here). Not known in a confined thread.
std::uint64_t node_of_page(std::uint64_t address) noexcept;

/// The node nearest to the device. Not known with a driver older than the attribute (12.2), or without nodes.
std::uint64_t node_of_device(CUdevice device) noexcept;

} // namespace umadvisor::observe
