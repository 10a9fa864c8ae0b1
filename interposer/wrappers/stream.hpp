/// Synchronisation, streams and events.
#pragma once

#include "interposer/act/action.hpp"
#include "interposer/observe/capture.hpp"
#include "interposer/observe/copy_contents.hpp"
#include "interposer/wrappers/hook.hpp"

namespace umadvisor::wrappers {

/// Records a synchronisation that began at `begun` (of act::Wait); one that waited lets the observers look at
/// what the device has done.
void finish_sync(trace::Sync& record, std::uint64_t begun) noexcept;
void finish_stream(trace::Stream& record) noexcept;
void finish_event(trace::Event& record) noexcept;

/// What every waiting call ends with, the synchronous copies included.
void after_wait(const act::Wait& wait) noexcept;

template <trace::SyncKind Kind>
struct Synchronize : WhileRecording {
    template <Entry E, class... Object>
    static CUresult call(Object... object) noexcept {
        trace::Sync record;
        record.kind = Kind;
        if constexpr (Kind == trace::SyncKind::stream || Kind == trace::SyncKind::stream_query)
            record.object = stream_of<E>(object...);
        else if constexpr (sizeof...(Object) != 0)
            record.object = reinterpret_cast<std::uint64_t>((object, ...));
        if constexpr (Kind != trace::SyncKind::stream_query && Kind != trace::SyncKind::event_query)
            observe::copy_contents().before_sync(record);
        const std::uint64_t begun = act::wait_begins();
        const CUresult result = timed<E>(record, object...);
        finish_sync(record, begun);
        return result;
    }
};

using synchronize_context = Synchronize<trace::SyncKind::context>;
using synchronize_stream = Synchronize<trace::SyncKind::stream>;
using synchronize_event = Synchronize<trace::SyncKind::event>;
using query_stream = Synchronize<trace::SyncKind::stream_query>;
using query_event = Synchronize<trace::SyncKind::event_query>;

struct create_stream : WhilePaused {
    template <Entry E, class... Priority>
    static CUresult call(CUstream* out, unsigned flags, Priority... priority) noexcept {
        trace::Stream record;
        record.action = trace::StreamAction::create;
        record.flags = flags;
        const CUresult result = timed<E>(record, out, flags, priority...);
        record.stream = reinterpret_cast<std::uint64_t>(answered(result, out));
        finish_stream(record);
        return result;
    }
};

struct create_green_stream : WhilePaused {
    template <Entry E>
    static CUresult call(CUstream* out, CUgreenCtx green, unsigned flags, int priority) noexcept {
        trace::Stream record;
        record.action = trace::StreamAction::create;
        record.flags = flags;
        record.context = reinterpret_cast<std::uint64_t>(green);
        const CUresult result = timed<E>(record, out, green, flags, priority);
        record.stream = reinterpret_cast<std::uint64_t>(answered(result, out));
        finish_stream(record);
        return result;
    }
};

struct destroy_stream : WhilePaused {
    template <Entry E>
    static CUresult call(CUstream stream) noexcept {
        trace::Stream record;
        record.action = trace::StreamAction::destroy;
        record.stream = reinterpret_cast<std::uint64_t>(stream);
        const std::uint64_t begun = observe::captures_begun();
        const CUresult result = timed<E>(record, stream);
        if (result == CUDA_SUCCESS)
            observe::forget_captures(stream, begun);
        finish_stream(record);
        return result;
    }
};

struct wait_event : WhileRecording {
    template <Entry E>
    static CUresult call(CUstream stream, CUevent event, unsigned flags) noexcept {
        trace::Stream record;
        record.action = trace::StreamAction::wait_event;
        record.stream = stream_of<E>(stream);
        record.event = reinterpret_cast<std::uint64_t>(event);
        record.flags = flags;
        const CUresult result = timed<E>(record, stream, event, flags);
        finish_stream(record);
        return result;
    }
};

/// Waits of all streams of a context, green ones too.
struct context_wait_event : WhileRecording {
    template <Entry E, class Context>
    static CUresult call(Context context, CUevent event) noexcept {
        trace::Stream record;
        record.action = trace::StreamAction::context_wait_event;
        record.context = reinterpret_cast<std::uint64_t>(context);
        record.event = reinterpret_cast<std::uint64_t>(event);
        const CUresult result = timed<E>(record, context, event);
        finish_stream(record);
        return result;
    }
};

/// A stream waits for a value in memory, or writes one.
template <trace::StreamAction Action>
struct OnValue : WhileRecording {
    template <Entry E, class Value>
    static CUresult call(CUstream stream, CUdeviceptr address, Value value, unsigned flags) noexcept {
        trace::Stream record;
        record.action = Action;
        record.stream = stream_of<E>(stream);
        record.address = address;
        record.value = value;
        record.flags = flags;
        const CUresult result = timed<E>(record, stream, address, value, flags);
        finish_stream(record);
        return result;
    }
};
using wait_value = OnValue<trace::StreamAction::wait_value>;
using write_value = OnValue<trace::StreamAction::write_value>;

struct batch_memory_operations : WhileRecording {
    template <Entry E>
    static CUresult call(CUstream stream, unsigned count, CUstreamBatchMemOpParams* operations,
                         unsigned flags) noexcept {
        trace::Stream record;
        record.action = trace::StreamAction::memory_operations;
        record.stream = stream_of<E>(stream);
        record.value = count;
        record.flags = flags;
        const CUresult result = timed<E>(record, stream, count, operations, flags);
        finish_stream(record);
        return result;
    }
};

void finish_host_function(trace::HostFunction& record) noexcept;

/// cuLaunchHostFunc and cuStreamAddCallback.
struct host_function : WhileRecording {
    template <Entry E, class Function, class... Flags>
    static CUresult call(CUstream stream, Function function, void* data, Flags... flags) noexcept {
        trace::HostFunction record;
        record.stream = stream_of<E>(stream);
        record.function_address = reinterpret_cast<std::uint64_t>(function);
        const CUresult result = timed<E>(record, stream, function, data, flags...);
        finish_host_function(record);
        return result;
    }
};

struct create_event : WhilePaused {
    template <Entry E>
    static CUresult call(CUevent* out, unsigned flags) noexcept {
        trace::Event record;
        record.action = trace::EventAction::create;
        record.flags = flags;
        const CUresult result = timed<E>(record, out, flags);
        record.event = reinterpret_cast<std::uint64_t>(answered(result, out));
        finish_event(record);
        return result;
    }
};

struct destroy_event : WhilePaused {
    template <Entry E>
    static CUresult call(CUevent event) noexcept {
        trace::Event record;
        record.action = trace::EventAction::destroy;
        record.event = reinterpret_cast<std::uint64_t>(event);
        const CUresult result = timed<E>(record, event);
        finish_event(record);
        return result;
    }
};

struct record_event : WhileRecording {
    template <Entry E, class... Flags>
    static CUresult call(CUevent event, CUstream stream, Flags... flags) noexcept {
        trace::Event record;
        record.action = trace::EventAction::record;
        record.event = reinterpret_cast<std::uint64_t>(event);
        record.stream = stream_of<E>(stream);
        if constexpr (sizeof...(Flags) != 0)
            record.flags = (flags, ...);
        const CUresult result = timed<E>(record, event, stream, flags...);
        finish_event(record);
        return result;
    }
};

/// On all streams of a context, green ones too.
struct context_record_event : WhileRecording {
    template <Entry E, class Context>
    static CUresult call(Context context, CUevent event) noexcept {
        trace::Event record;
        record.action = trace::EventAction::record_context;
        record.context = reinterpret_cast<std::uint64_t>(context);
        record.event = reinterpret_cast<std::uint64_t>(event);
        const CUresult result = timed<E>(record, context, event);
        finish_event(record);
        return result;
    }
};

} // namespace umadvisor::wrappers
