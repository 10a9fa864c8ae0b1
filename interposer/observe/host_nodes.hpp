/// Which NUMA node host memory lies on. Nodes are given plus 1, as traces have them; 0: not known.
#pragma once

#include <cstdint>

namespace umadvisor::observe {

/// Of the CPU that the calling thread runs on (getcpu(2)): what the driver allocates for the thread comes from
/// there, unless the thread has a memory policy. Pages that are a mapping of a device have no node to ask for.
std::uint64_t node_of_thread() noexcept;

/// Of the page that holds `address`, which has to be in memory (move_pages(2), which moves nothing here).
std::uint64_t node_of_page(std::uint64_t address) noexcept;

} // namespace umadvisor::observe
