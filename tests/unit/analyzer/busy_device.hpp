/// A program whose copies and kernels take the times that a test says.
#pragma once

#include "found.hpp"

#include <string_view>

namespace umadvisor::test {

/// A device with streams, copies and kernels on named memory.
struct BusyDevice : Scenario {
    std::uint64_t function_id = function("scramble");

    std::uint64_t make_stream(bool non_blocking = false) {
        const std::uint64_t handle = 0x5000 + 16 * ++streams_;
        Scenario::make_stream(handle, non_blocking);
        return handle;
    }
    std::uint64_t memory(std::uint64_t on_device = 0) {
        return allocate(64 * mib, Memory::device, {.device = on_device});
    }

    struct Link {
        std::uint64_t stream = 0, ns = 0, stack = 0; ///< ns: of the device if asynchronous, else of the call
        bool asynchronous = true;
        trace::Memory host = trace::Memory::pinned;
        std::uint64_t host_address = 0x1000'0000;
        std::uint64_t content = 0; ///< hash of all bytes; 0: not looked at
    };
    void upload(std::uint64_t to, std::uint64_t bytes, const Link& link) {
        CopyOptions options{.source = link.host, .to = to};
        cross(bytes, link, options);
    }
    void download(std::uint64_t from, std::uint64_t bytes, const Link& link) {
        CopyOptions options{.source = Memory::device, .destination = link.host, .from = from};
        cross(bytes, link, options);
    }

    void kernel(std::initializer_list<std::uint64_t> allocations, std::uint64_t stream, std::uint64_t ns,
                std::uint64_t stack = 0) {
        launch(function_id, allocations,
               {.stream = stream, .stack = stack, .ns = ns, .grid = grid, .scanned = scanned});
    }

    /// All that was sampled is read after the wait.
    void wait(std::uint64_t duration = 700 * us) {
        synchronize({.duration = duration});
        tell_times();
    }

    bool scanned = true;
    std::array<std::uint64_t, 3> grid{1, 1, 1};

private:
    void cross(std::uint64_t bytes, const Link& link, CopyOptions& options) {
        options.stack = link.stack;
        options.stream = link.stream;
        options.asynchronous = link.asynchronous;
        options.host_address = link.host_address;
        options.part = options.whole = link.content;
        if (link.asynchronous && link.ns != 0)
            options.sample = sample(link.ns);
        copy(bytes, link.asynchronous ? 1300 : link.ns, options);
    }

    std::uint64_t streams_ = 0;
};

} // namespace umadvisor::test
