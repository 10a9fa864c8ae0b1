/// What threads record while the program runs: the records of event chunks. FORMAT.md says what the fields
/// mean.
#pragma once

#include "trace/types.hpp"

namespace umadvisor::trace {

/// What launches in a loop have in common. `shape` numbers are local to the chunk; a later definition of the
/// same number replaces the earlier one.
struct LaunchShape {
    static constexpr Type type = Type::launch_shape;
    static constexpr std::string_view name = "LaunchShape";
    std::uint64_t shape = 0, entry = 0, function = 0, stream = 0, stack = 0;
    std::uint64_t grid_x = 0, grid_y = 0, grid_z = 0, block_x = 0, block_y = 0, block_z = 0, shared_bytes = 0;
    std::uint64_t untold = 0;     ///< allocations reached beyond those in `touched`
    std::uint64_t scanned = 0;    ///< 1: the parameters were scanned; 0: their layout is not known
    Numbers<max_touched> touched; ///< allocation ids
    std::uint64_t captured = 0;   ///< 1: became a node of a graph and did not run

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
    }
};

struct Launch {
    static constexpr Type type = Type::launch;
    static constexpr std::string_view name = "Launch";
    std::uint64_t shape = 0, start = 0;
    std::uint64_t duration = 0; ///< 0: not measured; at least 1 where it was
    std::uint64_t status = 0;   ///< CUresult
    std::uint64_t sample = 0;   ///< device_time record that will tell the device's time; 0: not sampled
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

struct Alloc : Call {
    static constexpr Type type = Type::alloc;
    static constexpr std::string_view name = "Alloc";
    std::uint64_t allocation = 0; ///< id, unique in the file; 0 when the call failed
    std::uint64_t address = 0, bytes = 0;
    Memory memory{};
    std::uint64_t flags = 0; ///< as given to the driver
    std::uint64_t stream = 0;
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
    std::uint64_t allocation = 0; ///< 0: not known to us
    std::uint64_t address = 0;
    std::uint64_t stream = 0;
    std::uint64_t part = 0;     ///< as in Alloc
    std::uint64_t captured = 0; ///< 1: became a node of a graph and did not run

    template <class Self, class Visitor>
    static void fields(Self& r, Visitor& v) {
        call_fields(r, v);
        v.number("allocation", r.allocation);
        v.address("address", r.address);
        v.handle("stream", r.stream);
        v.number("status", r.status);
        v.number("part", r.part);
        v.number("captured", r.captured);
    }
};

/// What the host's end of a copy held.
struct CopyContent {
    std::uint64_t part_hash = 0;   ///< of some of the bytes; 0: not looked at
    std::uint64_t whole_hash = 0;  ///< of all; 0: not looked at
    std::uint64_t value_bytes = 0; ///< those looked at are one value of 1, 2 or 4 bytes; 0: they are not
    std::uint64_t value = 0;
    std::uint64_t look_duration = 0; ///< ticks that looking took: before an upload's call, after a download's

    /// All but `look_duration`, which stands at the end of a record.
    template <class Self, class Visitor>
    static void content_fields(Self& r, Visitor& v) {
        v.number("part_hash", r.part_hash);
        v.number("whole_hash", r.whole_hash);
        v.number("value_bytes", r.value_bytes);
        v.number("value", r.value);
    }
};

struct Copy : Call {
    static constexpr Type type = Type::copy;
    static constexpr std::string_view name = "Copy";
    std::uint64_t source = 0, destination = 0, bytes = 0;
    Memory source_memory{}, destination_memory{};
    std::uint64_t source_allocation = 0, destination_allocation = 0;
    std::uint64_t asynchronous = 0; ///< 1: the entry point is an Async one
    std::uint64_t stream = 0;
    std::uint64_t host_range = 0; ///< of the pageable end
    std::uint64_t sample = 0;
    Origin origin{};
    std::uint64_t width = 0; ///< bytes of a row; 0: one dimension, and so are the next four
    std::uint64_t height = 0, depth = 0;
    std::uint64_t source_pitch = 0, destination_pitch = 0; ///< bytes from row to row; 0: an array's own
    std::uint64_t batch = 0; ///< k: the k-th of its call, whose duration stands on the first; 0: the only one
    std::uint64_t captured = 0; ///< 1: became a node of a graph and did not run
    CopyContent content;
    std::uint64_t content_follows = 0; ///< 1: a Content record may tell it, once the copy is done
    std::uint64_t staged =
        0; ///< 1: by umadvisor, through pinned buffers of its own, in place of the driver's call

    template <class Self, class Visitor>
    static void fields(Self& r, Visitor& v) {
        call_fields(r, v);
        v.address("destination", r.destination);
        v.address("source", r.source);
        v.number("bytes", r.bytes);
        v.number("source_memory", r.source_memory);
        v.number("destination_memory", r.destination_memory);
        v.number("source_allocation", r.source_allocation);
        v.number("destination_allocation", r.destination_allocation);
        v.number("asynchronous", r.asynchronous);
        v.handle("stream", r.stream);
        v.number("host_range", r.host_range);
        v.number("status", r.status);
        v.number("sample", r.sample);
        v.number("origin", r.origin);
        v.number("width", r.width);
        v.number("height", r.height);
        v.number("depth", r.depth);
        v.number("source_pitch", r.source_pitch);
        v.number("destination_pitch", r.destination_pitch);
        v.number("batch", r.batch);
        v.number("captured", r.captured);
        CopyContent::content_fields(r.content, v);
        v.number("content_follows", r.content_follows);
        v.number("look_duration", r.content.look_duration);
        v.number("staged", r.staged);
    }
};

/// What an asynchronous copy to the host brought, seen when the thread had waited for it.
struct Content {
    static constexpr Type type = Type::content;
    static constexpr std::string_view name = "Content";
    std::uint64_t start = 0; ///< ticks, not a difference
    std::uint64_t copy = 0;  ///< `start` of the Copy, one of the same thread
    CopyContent content;

    template <class Self, class Visitor>
    static void fields(Self& r, Visitor& v) {
        v.number("start", r.start);
        v.number("copy", r.copy);
        CopyContent::content_fields(r.content, v);
        v.number("look_duration", r.content.look_duration);
    }
};

struct Set : Call {
    static constexpr Type type = Type::set;
    static constexpr std::string_view name = "Set";
    std::uint64_t address = 0, bytes = 0, value = 0;
    Memory memory{};
    std::uint64_t allocation = 0, asynchronous = 0, stream = 0;
    std::uint64_t width = 0, height = 0, pitch = 0; ///< as in Copy
    std::uint64_t captured = 0;                     ///< 1: became a node of a graph and did not run

    template <class Self, class Visitor>
    static void fields(Self& r, Visitor& v) {
        call_fields(r, v);
        v.address("address", r.address);
        v.number("bytes", r.bytes);
        v.number("value", r.value);
        v.number("memory", r.memory);
        v.number("allocation", r.allocation);
        v.number("asynchronous", r.asynchronous);
        v.handle("stream", r.stream);
        v.number("status", r.status);
        v.number("width", r.width);
        v.number("height", r.height);
        v.number("pitch", r.pitch);
        v.number("captured", r.captured);
    }
};

struct Sync : Call {
    static constexpr Type type = Type::sync;
    static constexpr std::string_view name = "Sync";
    SyncKind kind{};
    std::uint64_t object = 0; ///< stream or event handle

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
    std::uint64_t stream = 0;
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
    std::uint64_t stream = 0; ///< recorded on
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
    std::uint64_t address = 0, bytes = 0, allocation = 0;
    Location location{};
    std::uint64_t location_id = 0; ///< device ordinal or NUMA node
    std::uint64_t stream = 0;
    Origin origin{};
    Reason reason{};
    std::uint64_t batch = 0;     ///< as in Copy
    std::uint64_t discarded = 0; ///< 1: what it held was given up first

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
    }
};

struct Advise : Call {
    static constexpr Type type = Type::advise;
    static constexpr std::string_view name = "Advise";
    std::uint64_t address = 0, bytes = 0, allocation = 0;
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
    std::uint64_t allocation = 0;
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
    std::uint64_t floor_nanoseconds = 0; ///< what an event pair around nothing reads here; to be taken off

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
