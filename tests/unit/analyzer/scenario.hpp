/// Small programs as traces: what the tests of findings and reports are made of.
#pragma once

#include "trace_builder.hpp"

#include <array>
#include <cstdint>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

namespace umadvisor::test {

inline constexpr std::uint64_t kib = 1024, mib = 1024 * kib;
inline constexpr std::uint64_t us = 1000, ms = 1000 * us;

/// Where a scenario puts an allocation.
constexpr std::uint64_t address_of(std::uint64_t allocation) {
    return 0x7f00'0000'0000 + (allocation << 32);
}

/// A builder that keeps a clock and gives entry points and stacks their numbers.
class Scenario {
public:
    /// On a device with so much memory; 0: the trace does not tell how much. Else it is like `like`.
    explicit Scenario(std::uint64_t device_bytes = 0, const trace::Device& like = {});

    TraceBuilder builder;
    std::uint64_t now = 10'000; ///< ticks, nanoseconds

    std::uint64_t entry(std::string_view symbol, bool recorded = true);
    /// A stack of one frame that no module holds.
    std::uint64_t stack();
    std::uint64_t function(std::string_view symbol);

    /// A call that takes `duration`. The host goes on a microsecond behind it.
    template <class Record>
    void call(Record record, std::string_view symbol, std::uint64_t duration = us, std::uint32_t thread = 1) {
        record.entry = entry(symbol);
        record.start = now;
        record.duration = duration;
        builder.add(record, thread);
        now += duration + us;
    }

    struct CopyOptions {
        std::string_view symbol = {}; ///< empty: by where the bytes are, and whether the host waits
        trace::Memory source = trace::Memory::pageable, destination = trace::Memory::device;
        std::uint64_t stack = 0, sample = 0, host_range = 0, status = 0;
        bool asynchronous = false;
        std::uint64_t stream = 0;
        trace::Origin origin = trace::Origin::program;
        std::uint64_t batch = 0, height = 0; ///< height: in as many rows
        std::uint64_t pitch = 0;             ///< from row to row; 0: twice the row
        std::uint64_t from = 0, to = 0;      ///< allocations
        std::uint64_t host_address = 0x1000'0000;
        std::uint64_t offset = 0;          ///< in the device's
        std::uint64_t part = 0, whole = 0; ///< hashes
        std::uint64_t places = 0, places_differ = 0;
        std::uint64_t value_bytes = 0, value = 0;
        bool content_follows = false;
        std::uint64_t look_duration = 0;
        bool staged = false;
        trace::Reason reason{};
        std::uint64_t wait_duration = 0;
        std::uint64_t disk_faults = 0;
    };
    void copy(std::uint64_t bytes, std::uint64_t duration, const CopyOptions& options);
    /// From device memory to the host, to page-locked memory unless `options` say pageable.
    void download(std::uint64_t bytes, std::uint64_t duration, CopyOptions options);
    /// So often that page-locking the buffer pays.
    void copy_often(std::uint64_t bytes, std::uint64_t duration, const CopyOptions& options) {
        for (int i = 0; i < 4; ++i)
            copy(bytes, duration, options);
    }

    struct SetOptions {
        std::uint64_t stack = 0, offset = 0, value = 0, stream = 0;
        trace::Memory memory = trace::Memory::device;
        bool asynchronous = false;
    };
    void set(std::uint64_t allocation, std::uint64_t bytes, const SetOptions& options);

    struct AllocationOptions {
        std::uint64_t stack = 0, duration = us;
        std::string_view symbol = {}; ///< empty: by the memory
        std::uint64_t id = 0;         ///< 0: the next one
        std::uint64_t address = 0;    ///< 0: where scenarios put it
        std::uint64_t device = 0, node = 0, flags = 0, part = 0, status = 0;
        std::uint64_t variable = 0; ///< the string that is its name
        trace::Origin origin = trace::Origin::program;
    };
    /// Returns the allocation's id.
    std::uint64_t allocate(std::uint64_t bytes, trace::Memory memory, const AllocationOptions& options);
    std::uint64_t allocate(std::uint64_t bytes, trace::Memory memory, std::uint64_t stack = 0) {
        return allocate(bytes, memory, {.stack = stack});
    }
    void free(std::uint64_t allocation, std::uint64_t duration = us, std::uint64_t stack = 0);
    /// In the order of the stream.
    void free_async(std::uint64_t allocation, std::uint64_t stream = 0, std::uint64_t stack = 0);

    /// One launch that touches `allocations`.
    void launch(std::uint64_t function, std::initializer_list<std::uint64_t> allocations,
                std::uint64_t sample = 0, std::uint64_t stack = 0);
    struct LaunchOptions {
        std::uint64_t stream = 0, stack = 0;
        std::uint64_t ns = 0; ///< that the device takes, as tell_times() has it; 0: not sampled
        std::array<std::uint64_t, 3> grid{1, 1, 1};
        bool scanned = true;
        std::uint64_t host_range = 0; ///< pageable memory among the parameters
    };
    void launch(std::uint64_t function, std::initializer_list<std::uint64_t> allocations,
                const LaunchOptions& options);
    /// A launch of which nothing tells what it reaches.
    void launch_unknown(std::uint64_t function = 0);
    /// A graph of unknown nodes.
    void launch_graph(std::uint64_t stream = 0);
    void host_function(std::uint64_t stream = 0, std::uint32_t thread = 1);

    void make_stream(std::uint64_t handle, bool non_blocking = false);
    void record_event(std::uint64_t event, std::uint64_t stream = 0);
    void act_on_stream(std::uint64_t stream, trace::StreamAction action, std::uint64_t event = 0);

    void synchronize();
    struct SyncOptions {
        trace::SyncKind kind = trace::SyncKind::context;
        std::uint64_t object = 0, stack = 0, duration = us;
        std::uint32_t thread = 1;
        std::uint64_t status = 0;
    };
    void synchronize(const SyncOptions& options);
    void device_time(std::uint64_t sample, std::uint64_t nanoseconds);
    /// The next number of a sample, of which tell_times() tells the time.
    std::uint64_t sample(std::uint64_t nanoseconds);
    void tell_times();

    struct PrefetchOptions {
        std::uint64_t stack = 0, status = 0, host_range = 0, duration = 2 * us;
        trace::Origin origin = trace::Origin::program;
        trace::Reason reason{};
    };
    void prefetch(std::uint64_t allocation, std::uint64_t bytes, trace::Location location,
                  const PrefetchOptions& options);
    void prefetch(std::uint64_t allocation, std::uint64_t bytes, trace::Location location,
                  trace::Origin origin = trace::Origin::program) {
        prefetch(allocation, bytes, location, {.origin = origin});
    }
    /// All pages looked at; `host_bytes` of them mapped by the host.
    void residency(std::uint64_t allocation, std::uint64_t bytes, std::uint64_t host_bytes,
                   trace::SampleMoment moment);
    void pause();
    void use_device(std::uint64_t ordinal, std::uint64_t context = 0x900);
    /// A string of the trace; returns its number.
    std::uint64_t text(std::string_view words);

    /// Writes the trace and returns its path.
    std::string path();

private:
    void add_launch(trace::LaunchShape shape, std::span<const std::uint64_t> allocations, std::uint64_t sample);

    std::uint64_t next_ = 1, texts_ = 0, samples_ = 0;
    std::map<std::string, std::uint64_t, std::less<>> entries_;
    std::vector<std::pair<std::uint64_t, std::uint64_t>> untold_; ///< samples and their time
};

} // namespace umadvisor::test
