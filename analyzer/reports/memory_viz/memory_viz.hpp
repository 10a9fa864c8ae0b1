/// Device memory over time, as https://pytorch.org/memory_viz and torch.cuda._memory_viz read it.
#pragma once

#include "analyzer/reader/trace.hpp"
#include "analyzer/symbols/symbolizer.hpp"

#include <cstddef>
#include <functional>
#include <string_view>

namespace umadvisor::reports {

struct MemoryVizOptions {
    std::size_t limit = 100'000; ///< entries of the history that are kept: the newest
    bool at_oom = false;         ///< end with the first allocation that found no memory left
    bool full_stacks = false;    ///< also frames of CUDA and of known frameworks
};

struct MemoryVizTotals {
    std::size_t segments = 0, entries = 0;
    std::size_t left_out = 0; ///< older entries, beyond the limit
    bool any_oom = false;
};

/// Writes the pickle of a snapshot: each allocation that the driver made on a device, managed memory included,
/// is a segment with one block, and its history has what the program allocated, freed and did not get, with
/// times since 1970. Memory of the host is not in it. `device_free` of an allocation that failed is the most
/// that can have been free: what the device has less what the program held. Reads all events of the trace;
/// throws what `write` throws. Memory: the entries that are kept, the live allocations and the distinct stacks.
MemoryVizTotals write_memory_viz(reader::Trace& trace, symbols::Symbolizer& symbolizer,
                                 const MemoryVizOptions& options,
                                 const std::function<void(std::string_view)>& write);

} // namespace umadvisor::reports
