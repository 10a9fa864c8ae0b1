/// Where memory and streams come from beyond plain allocation: address ranges, pools, contexts, other
/// processes. All since version 1.1. What such a call maps or unmaps has Alloc and Free records too, as parts
/// of it.
#pragma once

#include "trace/event_records.hpp"

namespace umadvisor::trace {

/// One call of the virtual memory management (CUDA driver API, section 6.16).
struct VirtualMemory : PlainCall {
    static constexpr Type type = Type::virtual_memory;
    static constexpr std::string_view name = "VirtualMemory";
    VirtualMemoryAction action{};
    std::uint64_t address = 0, bytes = 0;
    std::uint64_t handle = 0; ///< CUmemGenericAllocationHandle
    std::uint64_t offset = 0; ///< into it
    Location location{};      ///< of the memory made, or that access is given to
    std::uint64_t location_id = 0;
    std::uint64_t flags = 0;   ///< CUmemAccess_flags, or kind of the handle exported or imported
    std::uint64_t devices = 0; ///< that access is given to, a bit for each ordinal

    template <class Self, class Visitor>
    static void fields(Self& r, Visitor& v) {
        call_fields(r, v);
        v.number("action", r.action);
        v.number("address", r.address);
        v.number("bytes", r.bytes);
        v.number("handle", r.handle);
        v.number("offset", r.offset);
        v.number("location", r.location);
        v.number("location_id", r.location_id);
        v.number("flags", r.flags);
        v.number("status", r.status);
        v.number("devices", r.devices);
    }
};

/// One call on a memory pool of stream-ordered allocation.
struct Pool : PlainCall {
    static constexpr Type type = Type::pool;
    static constexpr std::string_view name = "Pool";
    PoolAction action{};
    std::uint64_t pool = 0; ///< handle
    Memory memory{};        ///< what its allocations are
    Location location{};
    std::uint64_t location_id = 0;
    std::uint64_t attribute = 0; ///< CUmemPool_attribute; access flags; kind of the handle exported or imported
    std::uint64_t value = 0;     ///< of the attribute; bytes to keep; greatest size of a new pool
    std::uint64_t address = 0;   ///< exported or imported
    Origin origin{};
    Reason reason{};

    template <class Self, class Visitor>
    static void fields(Self& r, Visitor& v) {
        call_fields(r, v);
        v.number("action", r.action);
        v.number("pool", r.pool);
        v.number("memory", r.memory);
        v.number("location", r.location);
        v.number("location_id", r.location_id);
        v.number("attribute", r.attribute);
        v.number("value", r.value);
        v.number("address", r.address);
        v.number("status", r.status);
        v.number("origin", r.origin);
        v.number("reason", r.reason);
    }
};

/// A context comes, goes, or becomes the thread's current one.
struct Context : PlainCall {
    static constexpr Type type = Type::context;
    static constexpr std::string_view name = "Context";
    ContextAction action{};
    std::uint64_t context = 0; ///< handle; 0: none
    std::uint64_t device = 0;
    std::uint64_t green = 0; ///< CUgreenCtx that it is of
    std::uint64_t flags = 0;
    std::uint64_t flags_known = 0; ///< 1: `flags` are those of the context; of retain_primary 0: not known

    template <class Self, class Visitor>
    static void fields(Self& r, Visitor& v) {
        call_fields(r, v);
        v.number("action", r.action);
        v.number("context", r.context);
        v.number("device", r.device);
        v.number("green", r.green);
        v.number("flags", r.flags);
        v.number("status", r.status);
        v.number("flags_known", r.flags_known);
    }
};

/// A device may reach another's memory, or no longer.
struct Peer : PlainCall {
    static constexpr Type type = Type::peer;
    static constexpr std::string_view name = "Peer";
    PeerAction action{};
    std::uint64_t device = 0, peer = 0; ///< ordinals

    template <class Self, class Visitor>
    static void fields(Self& r, Visitor& v) {
        call_fields(r, v);
        v.number("action", r.action);
        v.number("device", r.device);
        v.number("peer", r.peer);
        v.number("status", r.status);
    }
};

/// A host function put in a stream.
struct HostFunction : PlainCall {
    static constexpr Type type = Type::host_function;
    static constexpr std::string_view name = "HostFunction";
    StreamId stream{};
    std::uint64_t function_address = 0;
    std::uint64_t captured = 0; ///< 1: became a node of a graph and did not run

    template <class Self, class Visitor>
    static void fields(Self& r, Visitor& v) {
        call_fields(r, v);
        v.number("stream", r.stream);
        v.number("function_address", r.function_address);
        v.number("status", r.status);
        v.number("captured", r.captured);
    }
};

/// Memory or an event shared with another process by a legacy IPC handle.
struct Ipc : PlainCall {
    static constexpr Type type = Type::ipc;
    static constexpr std::string_view name = "Ipc";
    IpcAction action{};
    std::uint64_t key = 0; ///< a hash of the handle: the same in the traces of both processes
    std::uint64_t address = 0, bytes = 0;
    std::uint64_t event = 0;

    template <class Self, class Visitor>
    static void fields(Self& r, Visitor& v) {
        call_fields(r, v);
        v.number("action", r.action);
        v.number("key", r.key);
        v.number("address", r.address);
        v.number("bytes", r.bytes);
        v.number("event", r.event);
        v.number("status", r.status);
    }
};

/// Memory of another API (Vulkan, Direct3D, NvSci).
struct External : PlainCall {
    static constexpr Type type = Type::external;
    static constexpr std::string_view name = "External";
    ExternalAction action{};
    std::uint64_t external = 0;    ///< CUexternalMemory
    std::uint64_t handle_type = 0; ///< CUexternalMemoryHandleType
    std::uint64_t address = 0;     ///< of a mapped buffer; handle of a mipmapped array
    std::uint64_t offset = 0, bytes = 0;

    template <class Self, class Visitor>
    static void fields(Self& r, Visitor& v) {
        call_fields(r, v);
        v.number("action", r.action);
        v.number("external", r.external);
        v.number("handle_type", r.handle_type);
        v.number("address", r.address);
        v.number("offset", r.offset);
        v.number("bytes", r.bytes);
        v.number("status", r.status);
    }
};

} // namespace umadvisor::trace
