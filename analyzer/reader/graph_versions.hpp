/// What the GraphNode records of a trace say, kept small: a graph may have many thousand nodes.
#pragma once

#include "trace/graph_records.hpp"

#include <cstdint>
#include <vector>

namespace umadvisor::reader {

struct GraphNode {
    std::uint64_t number = 0, parent = 0;
    trace::GraphNodeKind kind{};
    bool disabled = false;
    std::uint64_t bytes = 0, host_range = 0;
    trace::Memory source{}, destination{};
    std::uint64_t function = 0, grid[3] = {}, block[3] = {}, shared_bytes = 0;
    std::vector<std::uint64_t> touched;
};

/// A version is its base with these nodes put in the place of those of the same number.
struct GraphVersion {
    std::uint64_t base = 0, untold = 0;
    std::vector<GraphNode> nodes;

    void add(const trace::GraphNode& record) {
        base = record.base;
        if (record.node == 0) {
            untold = record.untold;
            return;
        }
        nodes.push_back({record.node,
                         record.parent,
                         record.kind,
                         record.disabled != 0,
                         record.bytes,
                         record.host_range,
                         record.source_memory,
                         record.destination_memory,
                         record.function,
                         {record.grid_x, record.grid_y, record.grid_z},
                         {record.block_x, record.block_y, record.block_z},
                         record.shared_bytes,
                         {record.touched.begin(), record.touched.end()}});
    }
};

} // namespace umadvisor::reader
