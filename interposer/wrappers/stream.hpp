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
            record.object = number(stream_of<E>(object...));
        else if constexpr (sizeof...(Object) != 0)
            record.object = number((object, ...));
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

struct create_stream : Recorded<create_stream, finish_stream, trace::StreamAction::create> {
    static void fill(trace::Stream& record, CUstream*, unsigned flags, auto... /*priority*/) noexcept {
        record.flags = flags;
    }
    static void answer(trace::Stream& record, const CUstream* out, auto...) noexcept {
        record.stream = trace::StreamId{number(*out)};
    }
};

struct create_green_stream : Recorded<create_green_stream, finish_stream, trace::StreamAction::create> {
    static void fill(trace::Stream& record, CUstream*, CUgreenCtx green, unsigned flags, int) noexcept {
        record.flags = flags;
        record.context = number(green);
    }
    static void answer(trace::Stream& record, const CUstream* out, auto...) noexcept {
        record.stream = trace::StreamId{number(*out)};
    }
};

struct destroy_stream : WhilePaused {
    template <Entry E>
    static CUresult call(CUstream stream) noexcept {
        trace::Stream record;
        record.action = trace::StreamAction::destroy;
        record.stream = trace::StreamId{number(stream)};
        const std::uint64_t begun = observe::captures_begun();
        const CUresult result = timed<E>(record, stream);
        if (result == CUDA_SUCCESS)
            observe::forget_captures(stream, begun);
        finish_stream(record);
        return result;
    }
};

struct wait_event : Recorded<wait_event, finish_stream, trace::StreamAction::wait_event, WhileRecording> {
    static void fill(trace::Stream& record, trace::StreamId stream, CUevent event, unsigned flags) noexcept {
        record.stream = stream;
        record.event = number(event);
        record.flags = flags;
    }
};

/// Waits of all streams of a context, green ones too.
struct context_wait_event
    : Recorded<context_wait_event, finish_stream, trace::StreamAction::context_wait_event, WhileRecording> {
    static void fill(trace::Stream& record, auto context, CUevent event) noexcept {
        record.context = number(context);
        record.event = number(event);
    }
};

/// A stream waits for a value in memory, or writes one.
template <trace::StreamAction Action>
struct OnValue : Recorded<OnValue<Action>, finish_stream, Action, WhileRecording> {
    static void fill(trace::Stream& record, trace::StreamId stream, CUdeviceptr address, auto value,
                     unsigned flags) noexcept {
        record.stream = stream;
        record.address = address;
        record.value = value;
        record.flags = flags;
    }
};
using wait_value = OnValue<trace::StreamAction::wait_value>;
using write_value = OnValue<trace::StreamAction::write_value>;

struct batch_memory_operations
    : Recorded<batch_memory_operations, finish_stream, trace::StreamAction::memory_operations, WhileRecording> {
    static void fill(trace::Stream& record, trace::StreamId stream, unsigned count, CUstreamBatchMemOpParams*,
                     unsigned flags) noexcept {
        record.stream = stream;
        record.value = count;
        record.flags = flags;
    }
};

void finish_host_function(trace::HostFunction& record) noexcept;

/// cuLaunchHostFunc and cuStreamAddCallback.
struct host_function : WhileRecording {
    template <Entry E, class Function, class... Flags>
    static CUresult call(CUstream stream, Function function, void* data, Flags... flags) noexcept {
        trace::HostFunction record;
        record.stream = stream_of<E>(stream);
        record.function_address = number(function);
        const CUresult result = timed<E>(record, stream, function, data, flags...);
        finish_host_function(record);
        return result;
    }
};

struct create_event : Recorded<create_event, finish_event, trace::EventAction::create> {
    static void fill(trace::Event& record, CUevent*, unsigned flags) noexcept { record.flags = flags; }
    static void answer(trace::Event& record, const CUevent* out, unsigned) noexcept {
        record.event = number(*out);
    }
};

struct destroy_event : Recorded<destroy_event, finish_event, trace::EventAction::destroy> {
    static void fill(trace::Event& record, CUevent event) noexcept { record.event = number(event); }
};

struct record_event : Recorded<record_event, finish_event, trace::EventAction::record, WhileRecording> {
    static void fill(trace::Event& record, CUevent event, trace::StreamId stream, auto... flags) noexcept {
        record.event = number(event);
        record.stream = stream;
        record.flags = (0u | ... | flags);
    }
};

/// The event stands for all streams of a context, green ones too.
struct context_record_event
    : Recorded<context_record_event, finish_event, trace::EventAction::record_context, WhileRecording> {
    static void fill(trace::Event& record, auto context, CUevent event) noexcept {
        record.context = number(context);
        record.event = number(event);
    }
};

} // namespace umadvisor::wrappers
