/// Launches, allocations, waits, advice, and what was measured beside them, as threads record them while the
/// program runs. FORMAT.md says what the fields mean.
#pragma once

#include "trace/types.hpp"

namespace umadvisor::trace {

/// What launches in a loop have in common. `shape` numbers are local to the chunk; a later definition of the
/// same number replaces the earlier one.
struct LaunchShape {
    static constexpr Type type = Type::launch_shape;
    static constexpr std::string_view name = "LaunchShape";
    std::uint64_t shape = 0, entry = 0, function = 0;
    StreamId stream{};
    std::uint64_t stack = 0;
    std::uint64_t grid_x = 0, grid_y = 0, grid_z = 0, block_x = 0, block_y = 0, block_z = 0, shared_bytes = 0;
    std::uint64_t untold = 0;  ///< allocations reached beyond those in `touched`
    std::uint64_t scanned = 0; ///< 1: the parameters were scanned; 0: their layout is not known
    Numbers<max_touched, AllocationId> touched;
    std::uint64_t captured = 0;              ///< 1: became a node of a graph and did not run
    Numbers<max_reached_ranges> host_ranges; ///< pageable memory among the parameters, where kernels reach it

    template <class Self, class Visitor>
    static void fields(Self& r, Visitor& v) {
        v.number("shape", r.shape);
        v.number("entry", r.entry);
        v.number("function", r.function);
        v.handle("stream", r.stream);
        v.number("stack", r.stack);
        v.number("grid_x", r.grid_x);
        v.number("grid_y", r.grid_y);
        v.number("grid_z", r.grid_z);
        v.number("block_x", r.block_x);
        v.number("block_y", r.block_y);
        v.number("block_z", r.block_z);
        v.number("shared_bytes", r.shared_bytes);
        v.number("scanned", r.scanned);
        v.numbers("touched", r.touched);
        v.number("untold", r.untold);
        v.number("captured", r.captured);
        v.numbers("host_ranges", r.host_ranges);
    }
};

struct Launch {
    static constexpr Type type = Type::launch;
    static constexpr std::string_view name = "Launch";
    std::uint64_t shape = 0, start = 0;
    std::uint64_t duration = 0; ///< 0: not measured; at least 1 where it was
    std::uint64_t status = 0;   ///< CUresult
    std::uint64_t sample = 0;   ///< device_time record that will hold the device's time; 0: not sampled
    std::uint64_t stands_for =
        0; ///< launches of the shape before it that were not measured: it was drawn from all

    template <class Self, class Visitor>
    [[gnu::always_inline]] static constexpr void fields(Self& r, Visitor& v) {
        v.number("shape", r.shape);
        v.time("start", r.start);
        v.number("duration", r.duration);
        v.number("status", r.status);
        v.number("sample", r.sample);
        v.number("stands_for", r.stands_for);
    }
};

/// What every record of a driver call has; `status` stands near the end of each field list, since it is nearly
/// always zero.
struct Call {
    std::uint64_t entry = 0;
    std::uint64_t start = 0, duration = 0;
    std::uint64_t status = 0; ///< CUresult
    std::uint64_t stack = 0;

    template <class Self, class Visitor>
    static void call_fields(Self& r, Visitor& v) {
        v.number("entry", r.entry);
        v.time("start", r.start);
        v.number("duration", r.duration);
        v.number("stack", r.stack);
    }
};

/// The same for records added after version 1.0: no differences, since a reader that skips them would lose the
/// state. A zero status costs nothing where it is the last field.
struct PlainCall {
    std::uint64_t entry = 0;
    std::uint64_t start = 0, duration = 0; ///< ticks, not a difference
    std::uint64_t status = 0;              ///< CUresult
    std::uint64_t stack = 0;

    template <class Self, class Visitor>
    static void call_fields(Self& r, Visitor& v) {
        v.number("entry", r.entry);
        v.number("start", r.start);
        v.number("duration", r.duration);
        v.number("stack", r.stack);
    }
};

/// A question to the driver that is recorded for the time it takes: what is free, where memory lies. `entry`
/// names the question.
struct Query : PlainCall {
    static constexpr Type type = Type::query;
    static constexpr std::string_view name = "Query";

    template <class Self, class Visitor>
    static void fields(Self& r, Visitor& v) {
        call_fields(r, v);
        v.number("status", r.status);
    }
};

struct Alloc : Call {
    static constexpr Type type = Type::alloc;
    static constexpr std::string_view name = "Alloc";
    AllocationId allocation{}; ///< not known when the call failed
    std::uint64_t address = 0, bytes = 0;
    Memory memory{};
    std::uint64_t flags = 0; ///< as given to the driver
    StreamId stream{};
    std::uint64_t device = 0;
    Origin origin{}; ///< umadvisor: the program asked for device memory and was given managed memory
    Reason reason{};
    std::uint64_t symbol = 0;   ///< string: name of a __managed__ or __device__ variable
    std::uint64_t pool = 0;     ///< handle of the memory pool it was asked from
    std::uint64_t part = 0;     ///< 1: of a call that has a record of its own; not a call by itself
    std::uint64_t captured = 0; ///< 1: became a node of a graph and did not run
    std::uint64_t node = 0;     ///< NUMA node that host memory lies on, plus 1; 0: not known

    template <class Self, class Visitor>
    static void fields(Self& r, Visitor& v) {
        call_fields(r, v);
        v.number("allocation", r.allocation);
        v.address("address", r.address);
        v.number("bytes", r.bytes);
        v.number("memory", r.memory);
        v.number("flags", r.flags);
        v.handle("stream", r.stream);
        v.number("device", r.device);
        v.number("status", r.status);
        v.number("origin", r.origin);
        v.number("reason", r.reason);
        v.number("symbol", r.symbol);
        v.number("pool", r.pool);
        v.number("part", r.part);
        v.number("captured", r.captured);
        v.number("node", r.node);
    }
};

struct Free : Call {
    static constexpr Type type = Type::free;
    static constexpr std::string_view name = "Free";
    AllocationId allocation{};
    std::uint64_t address = 0;
    StreamId stream{};
    std::uint64_t part = 0;     ///< as in Alloc
    std::uint64_t captured = 0; ///< 1: became a node of a graph and did not run
    Reason reason{};            ///< why umadvisor kept the memory

    template <class Self, class Visitor>
    static void fields(Self& r, Visitor& v) {
        call_fields(r, v);
        v.number("allocation", r.allocation);
        v.address("address", r.address);
        v.handle("stream", r.stream);
        v.number("status", r.status);
        v.number("part", r.part);
        v.number("captured", r.captured);
        v.number("reason", r.reason);
    }
};

struct Sync : Call {
    static constexpr Type type = Type::sync;
    static constexpr std::string_view name = "Sync";
    SyncKind kind{};
    std::uint64_t object = 0; ///< stream or event handle

    StreamId of_stream() const noexcept { return StreamId{object}; } ///< where `kind` names a stream

    template <class Self, class Visitor>
    static void fields(Self& r, Visitor& v) {
        call_fields(r, v);
        v.number("kind", r.kind);
        v.handle("object", r.object);
        v.number("status", r.status);
    }
};

struct Stream : Call {
    static constexpr Type type = Type::stream;
    static constexpr std::string_view name = "Stream";
    StreamAction action{};
    StreamId stream{};
    std::uint64_t event = 0; ///< waited for
    std::uint64_t flags = 0;
    std::uint64_t context = 0;  ///< that all of waits, or that a new stream is of, where the call names one
    std::uint64_t address = 0;  ///< of a value waited for or written
    std::uint64_t value = 0;    ///< that value; of a batch the number of its operations
    std::uint64_t captured = 0; ///< 1: part of a graph; it did not run

    template <class Self, class Visitor>
    static void fields(Self& r, Visitor& v) {
        call_fields(r, v);
        v.number("action", r.action);
        v.handle("stream", r.stream);
        v.handle("event", r.event);
        v.number("flags", r.flags);
        v.number("status", r.status);
        v.number("context", r.context);
        v.number("address", r.address);
        v.number("value", r.value);
        v.number("captured", r.captured);
    }
};

struct Event : Call {
    static constexpr Type type = Type::event;
    static constexpr std::string_view name = "Event";
    EventAction action{};
    std::uint64_t event = 0;
    StreamId stream{}; ///< recorded on
    std::uint64_t flags = 0;
    std::uint64_t context = 0;  ///< all of whose streams it was recorded on
    std::uint64_t captured = 0; ///< 1: part of a graph; it did not run

    template <class Self, class Visitor>
    static void fields(Self& r, Visitor& v) {
        call_fields(r, v);
        v.number("action", r.action);
        v.handle("event", r.event);
        v.handle("stream", r.stream);
        v.number("flags", r.flags);
        v.number("status", r.status);
        v.number("context", r.context);
        v.number("captured", r.captured);
    }
};

struct Prefetch : Call {
    static constexpr Type type = Type::prefetch;
    static constexpr std::string_view name = "Prefetch";
    std::uint64_t address = 0, bytes = 0;
    AllocationId allocation{};
    Location location{};
    std::uint64_t location_id = 0; ///< device ordinal or NUMA node
    StreamId stream{};
    Origin origin{};
    Reason reason{};
    std::uint64_t batch = 0;      ///< as in Copy
    std::uint64_t discarded = 0;  ///< 1: what it held was given up first
    std::uint64_t host_range = 0; ///< of pageable memory

    template <class Self, class Visitor>
    static void fields(Self& r, Visitor& v) {
        call_fields(r, v);
        v.address("address", r.address);
        v.number("bytes", r.bytes);
        v.number("allocation", r.allocation);
        v.number("location", r.location);
        v.number("location_id", r.location_id);
        v.handle("stream", r.stream);
        v.number("status", r.status);
        v.number("origin", r.origin);
        v.number("reason", r.reason);
        v.number("batch", r.batch);
        v.number("discarded", r.discarded);
        v.number("host_range", r.host_range);
    }
};

struct Advise : Call {
    static constexpr Type type = Type::advise;
    static constexpr std::string_view name = "Advise";
    std::uint64_t address = 0, bytes = 0;
    AllocationId allocation{};
    std::uint64_t advice = 0; ///< CUmem_advise
    Location location{};
    std::uint64_t location_id = 0;
    Origin origin{};
    Reason reason{};

    template <class Self, class Visitor>
    static void fields(Self& r, Visitor& v) {
        call_fields(r, v);
        v.address("address", r.address);
        v.number("bytes", r.bytes);
        v.number("allocation", r.allocation);
        v.number("advice", r.advice);
        v.number("location", r.location);
        v.number("location_id", r.location_id);
        v.number("status", r.status);
        v.number("origin", r.origin);
        v.number("reason", r.reason);
    }
};

/// One look at the page table of a managed allocation.
struct Residency {
    static constexpr Type type = Type::residency;
    static constexpr std::string_view name = "Residency";
    std::uint64_t start = 0, duration = 0;
    AllocationId allocation{};
    SampleMoment moment{};
    std::uint64_t pages = 0;      ///< pages looked at, 4 KiB each
    std::uint64_t host_pages = 0; ///< of those, mapped by the host
    std::uint64_t offset = 0;     ///< of the first page looked at, bytes
    std::uint64_t content = 0;    ///< hash of what some of the host's pages hold; 0: not looked at
    std::uint64_t lone_line = 0;  ///< 64 bytes, from 1: nothing else of its page has changed; 0: none is known
    Regularity regularity{};      ///< of some pages, when all are on the host and no launch had any

    template <class Self, class Visitor>
    static void fields(Self& r, Visitor& v) {
        v.time("start", r.start);
        v.number("duration", r.duration);
        v.number("allocation", r.allocation);
        v.number("moment", r.moment);
        v.number("pages", r.pages);
        v.number("host_pages", r.host_pages);
        v.number("offset", r.offset);
        v.number("content", r.content);
        v.number("lone_line", r.lone_line);
        v.number("regularity", r.regularity);
    }
};

/// The device's own time for a sampled launch or copy, read later at a synchronisation.
struct DeviceTime {
    static constexpr Type type = Type::device_time;
    static constexpr std::string_view name = "DeviceTime";
    std::uint64_t start = 0; ///< when it was read
    std::uint64_t sample = 0, nanoseconds = 0;
    std::uint64_t floor_nanoseconds = 0; ///< what an event pair around nothing reads here; subtract it

    template <class Self, class Visitor>
    static void fields(Self& r, Visitor& v) {
        v.time("start", r.start);
        v.number("sample", r.sample);
        v.number("nanoseconds", r.nanoseconds);
        v.number("floor_nanoseconds", r.floor_nanoseconds);
    }
};

struct GpuModule : Call {
    static constexpr Type type = Type::gpu_module;
    static constexpr std::string_view name = "GpuModule";
    ModuleAction action{};
    std::uint64_t module = 0; ///< handle

    template <class Self, class Visitor>
    static void fields(Self& r, Visitor& v) {
        call_fields(r, v);
        v.number("action", r.action);
        v.handle("module", r.module);
        v.number("status", r.status);
    }
};

/// Both clocks once more; stands at the start of each event chunk and at synchronisations.
struct Clock {
    static constexpr Type type = Type::clock;
    static constexpr std::string_view name = "Clock";
    std::uint64_t start = 0, monotonic_ns = 0;

    template <class Self, class Visitor>
    static void fields(Self& r, Visitor& v) {
        v.time("start", r.start);
        v.number("monotonic_ns", r.monotonic_ns);
    }
};

} // namespace umadvisor::trace
