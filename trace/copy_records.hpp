/// Copies and sets, and what the host's end of a copy held, as threads record them while the program runs.
/// FORMAT.md says what the fields mean.
#pragma once

#include "trace/event_records.hpp"

namespace umadvisor::trace {

/// What the host's end of a copy held.
struct CopyContent {
    std::uint64_t part_hash = 0;   ///< of some of the bytes; 0: not looked at
    std::uint64_t whole_hash = 0;  ///< of all; 0: not looked at
    std::uint64_t value_bytes = 0; ///< those looked at are one value of 1, 2 or 4 bytes; 0: they are not
    std::uint64_t value = 0;
    std::uint64_t look_duration =
        0; ///< ticks that looking took: before the upload of page-locked memory, else after the call
    /// Places elsewhere in the bytes that were compared with the latest copy of this `part_hash` and as many
    /// bytes, and how many of them differed.
    std::uint64_t places = 0, places_differ = 0;

    /// All but those that came later, which stand at the end of a record.
    template <class Self, class Visitor>
    static void content_fields(Self& r, Visitor& v) {
        v.number("part_hash", r.part_hash);
        v.number("whole_hash", r.whole_hash);
        v.number("value_bytes", r.value_bytes);
        v.number("value", r.value);
    }
    template <class Self, class Visitor>
    static void place_fields(Self& r, Visitor& v) {
        v.number("places", r.places);
        v.number("places_differ", r.places_differ);
    }
};

struct Copy : Call {
    static constexpr Type type = Type::copy;
    static constexpr std::string_view name = "Copy";
    std::uint64_t source = 0, destination = 0, bytes = 0;
    Memory source_memory{}, destination_memory{};
    AllocationId source_allocation{}, destination_allocation{};
    std::uint64_t asynchronous = 0; ///< 1: the entry point is an Async one
    StreamId stream{};
    std::uint64_t host_range = 0; ///< of the pageable end
    std::uint64_t sample = 0;
    Origin origin{};
    std::uint64_t width = 0; ///< bytes of a row; 0: one dimension, and so are the next four
    std::uint64_t height = 0, depth = 0;
    std::uint64_t source_pitch = 0, destination_pitch = 0; ///< bytes from row to row; 0: an array's own
    std::uint64_t batch = 0; ///< k: the k-th of its call, whose duration stands on the first; 0: the only one
    std::uint64_t captured = 0; ///< 1: became a node of a graph and did not run
    CopyContent content;
    std::uint64_t content_follows = 0; ///< 1: a Content record may hold it, once the copy is done
    std::uint64_t staged =
        0;           ///< 1: by umadvisor, through pinned buffers of its own, in place of the driver's call
    Reason reason{}; ///< why an action made it in its own way, or left it to the driver
    std::uint64_t wait_duration = 0; ///< ticks of `duration`: umadvisor waited for what the stream had before
    std::uint64_t disk_faults = 0; ///< page faults of its thread that waited for a disk, where a file is mapped

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
        v.number("reason", r.reason);
        v.number("wait_duration", r.wait_duration);
        CopyContent::place_fields(r.content, v);
        v.number("disk_faults", r.disk_faults);
    }
};

/// What the host's end of an asynchronous copy held later: of a copy to the host what it brought, seen when the
/// thread had waited for it; of an upload what its source holds now, where the host has changed it.
struct Content {
    static constexpr Type type = Type::content;
    static constexpr std::string_view name = "Content";
    std::uint64_t start = 0; ///< ticks, not a difference
    std::uint64_t copy = 0;  ///< `start` of the Copy, one of the same thread
    CopyContent content;
    std::uint64_t source_changed = 0; ///< 1: of an upload, and not what its Copy says

    template <class Self, class Visitor>
    static void fields(Self& r, Visitor& v) {
        v.number("start", r.start);
        v.number("copy", r.copy);
        CopyContent::content_fields(r.content, v);
        v.number("look_duration", r.content.look_duration);
        v.number("source_changed", r.source_changed);
        CopyContent::place_fields(r.content, v);
    }
};

struct Set : Call {
    static constexpr Type type = Type::set;
    static constexpr std::string_view name = "Set";
    std::uint64_t address = 0, bytes = 0, value = 0;
    Memory memory{};
    AllocationId allocation{};
    std::uint64_t asynchronous = 0;
    StreamId stream{};
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

} // namespace umadvisor::trace
