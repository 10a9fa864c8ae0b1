/// Synchronisation, streams and events.
#pragma once

#include "interposer/wrappers/hook.hpp"

namespace umadvisor::wrappers {

/// Records a synchronisation; one that waited lets the observers look at what the device has done.
void finish_sync(trace::Sync& record) noexcept;
void finish_stream(trace::Stream& record) noexcept;
void finish_event(trace::Event& record) noexcept;

/// What every waiting call ends with, the synchronous copies included.
void after_wait() noexcept;

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
        const CUresult result = timed<E>(record, object...);
        finish_sync(record);
        return result;
    }
};

using synchronize_context = Synchronize<trace::SyncKind::context>;
using synchronize_given_context = Synchronize<trace::SyncKind::context>;
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
        record.stream = result == CUDA_SUCCESS ? reinterpret_cast<std::uint64_t>(*out) : 0;
        finish_stream(record);
        return result;
    }
};
struct create_stream_priority : create_stream {};

struct destroy_stream : WhilePaused {
    template <Entry E>
    static CUresult call(CUstream stream) noexcept {
        trace::Stream record;
        record.action = trace::StreamAction::destroy;
        record.stream = reinterpret_cast<std::uint64_t>(stream);
        const CUresult result = timed<E>(record, stream);
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

struct create_event : WhilePaused {
    template <Entry E>
    static CUresult call(CUevent* out, unsigned flags) noexcept {
        trace::Event record;
        record.action = trace::EventAction::create;
        record.flags = flags;
        const CUresult result = timed<E>(record, out, flags);
        record.event = result == CUDA_SUCCESS ? reinterpret_cast<std::uint64_t>(*out) : 0;
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
struct record_event_flags : record_event {};

} // namespace umadvisor::wrappers
