/// A program whose copies and kernels take the times that a test says.
#pragma once

#include "found.hpp"

#include <string_view>
#include <utility>
#include <vector>

namespace umadvisor::test {

inline constexpr std::uint64_t us = 1000;

/// A device with streams, copies and kernels on named memory.
struct BusyDevice : Scenario {
    std::uint64_t function_id = function("scramble");
    std::uint64_t samples = 0;

    std::uint64_t make_stream(bool non_blocking = false) {
        trace::Stream record;
        record.entry = entry("cuStreamCreate");
        record.start = now;
        record.duration = 1000;
        record.action = trace::StreamAction::create;
        record.stream = 0x5000 + 16 * ++streams_;
        record.flags = non_blocking ? 1 : 0;
        builder.add(record);
        now += 2000;
        return record.stream;
    }

    std::uint64_t memory(std::uint64_t on_device = 0) {
        trace::Alloc record;
        record.entry = entry("cuMemAlloc_v2");
        record.start = now;
        record.allocation = 100 + ++allocations_;
        record.address = 0x7f00'0000'0000 + (record.allocation << 32);
        record.bytes = 64 * mib;
        record.memory = trace::Memory::device;
        record.device = on_device;
        builder.add(record);
        now += 2000;
        return record.allocation;
    }

    struct Link {
        std::uint64_t stream = 0, ns = 0, stack = 0; ///< ns: of the device if asynchronous, else of the call
        bool asynchronous = true;
        trace::Memory host = trace::Memory::pinned;
        std::uint64_t host_address = 0x1000'0000;
        std::uint64_t content = 0; ///< hash of all bytes; 0: not looked at
    };
    void upload(std::uint64_t to, std::uint64_t bytes, const Link& link) {
        trace::Copy copy = across(bytes, link, link.asynchronous ? "cuMemcpyHtoDAsync_v2" : "cuMemcpyHtoD_v2");
        copy.source_memory = link.host;
        copy.source = link.host_address;
        copy.destination_memory = trace::Memory::device;
        copy.destination = 0x7f00'0000'0000 + (to << 32);
        copy.destination_allocation = to;
        give(copy, link);
    }
    void download(std::uint64_t from, std::uint64_t bytes, const Link& link) {
        trace::Copy copy = across(bytes, link, link.asynchronous ? "cuMemcpyDtoHAsync_v2" : "cuMemcpyDtoH_v2");
        copy.source_memory = trace::Memory::device;
        copy.source = 0x7f00'0000'0000 + (from << 32);
        copy.source_allocation = from;
        copy.destination_memory = link.host;
        copy.destination = link.host_address;
        give(copy, link);
    }

    void kernel(std::initializer_list<std::uint64_t> allocations, std::uint64_t stream, std::uint64_t ns,
                std::uint64_t stack = 0) {
        trace::LaunchShape shape;
        shape.shape = 1;
        shape.entry = entry("cuLaunchKernel");
        shape.function = function_id;
        shape.stream = stream;
        shape.stack = stack;
        shape.grid_x = grid[0];
        shape.grid_y = grid[1];
        shape.grid_z = grid[2];
        shape.block_x = shape.block_y = shape.block_z = 1;
        shape.scanned = scanned ? 1 : 0;
        for (const std::uint64_t allocation : allocations)
            shape.touched.add(allocation);
        builder.add(shape);
        trace::Launch launch;
        launch.shape = 1;
        launch.start = now;
        launch.duration = 2400;
        launch.sample = ++samples;
        builder.add(launch);
        pending_.emplace_back(launch.sample, ns);
        now += 3000;
    }

    /// All that was sampled is read after the wait.
    void wait(std::uint64_t duration = 700 * us) {
        synchronize({.duration = duration});
        read_samples();
    }
    void read_samples() {
        for (const auto& [sample, ns] : pending_)
            device_time(sample, ns);
        pending_.clear();
    }

    bool scanned = true;
    std::uint64_t grid[3] = {1, 1, 1};

private:
    trace::Copy across(std::uint64_t bytes, const Link& link, std::string_view symbol) {
        trace::Copy copy;
        copy.entry = entry(symbol);
        copy.start = now;
        copy.duration = link.asynchronous ? 1300 : link.ns;
        copy.stack = link.stack;
        copy.bytes = bytes;
        copy.asynchronous = link.asynchronous ? 1 : 0;
        copy.stream = link.stream;
        copy.content.part_hash = copy.content.whole_hash = link.content;
        return copy;
    }
    void give(trace::Copy& copy, const Link& link) {
        if (link.asynchronous && link.ns != 0) {
            copy.sample = ++samples;
            pending_.emplace_back(copy.sample, link.ns);
        }
        builder.add(copy);
        now += copy.duration + 1000;
    }

    std::uint64_t streams_ = 0, allocations_ = 0;
    std::vector<std::pair<std::uint64_t, std::uint64_t>> pending_; ///< samples and their time
};

/// What the memory of such programs is for is not their point.
inline std::vector<findings::Finding> advice_on(BusyDevice& busy) {
    auto found = findings_of(busy);
    std::erase_if(found, [](const findings::Finding& finding) { return finding.rule->id >= "UMA-3"; });
    return found;
}

inline findings::Finding lone_finding(BusyDevice& busy, std::string_view rule) {
    return lone(advice_on(busy), rule);
}

inline void nothing_is_found(BusyDevice& busy) {
    nothing_in(advice_on(busy));
}

} // namespace umadvisor::test
