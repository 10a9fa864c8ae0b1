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
    std::vector<trace::AllocationId> touched;
};

/// A version is its base with these nodes put in the place of those of the same number.
struct GraphVersion {
    std::uint64_t base = 0, untold = 0;
    /// Hashes, of versions without a base: of what an update of an executable graph cannot change (nodes, their
    /// kinds, kernels and order), and of all that was recorded about the nodes.
    std::uint64_t shape = 0, content = 0;
    std::vector<GraphNode> nodes;

    void add(const trace::GraphNode& record) {
        base = record.base;
        if (record.node == 0) {
            untold = record.untold;
            return;
        }
        hash(record);
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

private:
    static std::uint64_t mixed(std::uint64_t hash, std::uint64_t number) {
        hash = (hash ^ number) * 0x9e3779b97f4a7c15;
        return hash ^ hash >> 32;
    }
    void hash(const trace::GraphNode& record) {
        for (const std::uint64_t number :
             {record.node, static_cast<std::uint64_t>(record.kind), record.parent, record.function})
            shape = mixed(shape, number);
        for (const std::uint64_t number : record.dependencies)
            shape = mixed(shape, number);
        content = mixed(content, shape);
        for (const std::uint64_t number : {record.disabled, record.bytes, record.destination, record.source,
                                           record.value, record.grid_x, record.grid_y, record.grid_z,
                                           record.block_x, record.block_y, record.block_z, record.shared_bytes})
            content = mixed(content, number);
        for (const trace::AllocationId allocation : record.touched)
            content = mixed(content, trace::number(allocation));
    }
};

} // namespace umadvisor::reader
