/// Small programs as traces: what the tests of findings and reports are made of.
#pragma once

#include "trace_builder.hpp"

#include <cstdint>
#include <string_view>

namespace umadvisor::test {

inline constexpr std::uint64_t mib = 1024 * 1024;
inline constexpr std::uint64_t ms = 1'000'000;

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

    struct CopyOptions {
        std::string_view symbol = "cuMemcpyHtoD_v2";
        trace::Memory source = trace::Memory::pageable, destination = trace::Memory::device;
        std::uint64_t stack = 0, sample = 0, host_range = 0, status = 0;
        bool asynchronous = false;
        trace::Origin origin = trace::Origin::program;
        std::uint64_t batch = 0, height = 0; ///< height: in as many rows
        std::uint64_t pitch = 0;             ///< from row to row; 0: twice the row
        std::uint64_t from = 0, to = 0;      ///< allocations
        std::uint64_t offset = 0;            ///< in the device's
        std::uint64_t part = 0, whole = 0;   ///< hashes
        std::uint64_t value_bytes = 0, value = 0;
        bool content_follows = false;
        std::uint64_t look_duration = 0;
        bool staged = false;
        trace::Reason reason{};
        std::uint64_t wait_duration = 0;
    };
    void copy(std::uint64_t bytes, std::uint64_t duration, const CopyOptions& options);
    /// So often that page-locking the buffer pays.
    void copy_often(std::uint64_t bytes, std::uint64_t duration, const CopyOptions& options) {
        for (int i = 0; i < 4; ++i)
            copy(bytes, duration, options);
    }

    void set(std::uint64_t allocation, std::uint64_t bytes, std::uint64_t stack = 0);
    /// Returns the allocation's id.
    std::uint64_t allocate(std::uint64_t bytes, trace::Memory memory, std::uint64_t stack = 0,
                           trace::Origin origin = trace::Origin::program, std::string_view symbol = {},
                           std::uint64_t duration = 1000);
    void free(std::uint64_t allocation, std::uint64_t duration = 1000, std::uint64_t stack = 0);
    /// One launch that touches `allocations`.
    void launch(std::uint64_t function, std::initializer_list<std::uint64_t> allocations,
                std::uint64_t sample = 0, std::uint64_t stack = 0);
    void synchronize();
    struct SyncOptions {
        trace::SyncKind kind = trace::SyncKind::context;
        std::uint64_t object = 0, stack = 0, duration = 1000;
        std::uint32_t thread = 1;
        std::uint64_t status = 0;
    };
    void synchronize(const SyncOptions& options);
    void device_time(std::uint64_t sample, std::uint64_t nanoseconds);
    void prefetch(std::uint64_t allocation, std::uint64_t bytes, trace::Location location,
                  trace::Origin origin = trace::Origin::program);
    /// All pages looked at; `host_bytes` of them mapped by the host.
    void residency(std::uint64_t allocation, std::uint64_t bytes, std::uint64_t host_bytes,
                   trace::SampleMoment moment);

    /// Writes the trace and returns its path.
    std::string path();

private:
    std::uint64_t next_ = 1;
    std::map<std::string, std::uint64_t, std::less<>> entries_;
};

} // namespace umadvisor::test
