/// Contexts: creation, destruction, and the current context of each thread.
#pragma once

#include "interposer/observe/capture.hpp"
#include "interposer/wrappers/hook.hpp"

#include <tuple>

namespace umadvisor::wrappers {

/// Whether the trace has this context as the calling thread's current one.
bool is_recorded_current(CUcontext context) noexcept;

/// The thread's current context may have changed: asks the driver, and records a set_current if it has, or if
/// the call failed. `record` has the call's entry and times.
void finish_current(trace::Context& record) noexcept;

void finish_create(trace::Context& record, CUcontext context) noexcept;
void finish_retain(trace::Context& record, CUcontext context, CUdevice device) noexcept;
/// `device` -1: of the current context.
void finish_flags(trace::Context& record, unsigned flags, CUdevice device) noexcept;
/// Completes the record of a green context. `context` may be null.
void finish_green(trace::Context& record, CUcontext context, CUgreenCtx green) noexcept;
/// `begun`: captures, before the call.
void finish_destroy_green(trace::Context& record, CUgreenCtx green, std::uint64_t begun) noexcept;

/// A context that may be destroyed by the call, after which its handle may be another context's.
struct Leaving {
    CUcontext context;
    std::uint16_t number;    ///< of its allocations
    std::uint16_t device;    ///< number of the device's allocations, if its primary context is reset
    unsigned long long life; ///< id of a primary context that may live on; 0: not known
    std::uint64_t captures;  ///< begun before the call
};
Leaving begin_destroy(CUcontext context) noexcept;
Leaving begin_leave_primary(CUdevice device, bool reset) noexcept;

/// Records the call; the context's memory counts as freed, and its kernels are looked up again.
void finish_destroy(trace::Context& record, const Leaving& leaving) noexcept;
/// `reset` as above. Asks the driver whether the context was destroyed.
void finish_leave_primary(trace::Context& record, const Leaving& leaving, CUdevice device, bool reset) noexcept;

/// All its forms end with flags and device.
struct create_context : WhilePaused {
    template <Entry E, class... Arguments>
    static CUresult call(CUcontext* out, Arguments... arguments) noexcept {
        const auto all = std::tie(arguments...);
        trace::Context record;
        record.action = trace::ContextAction::create;
        record.flags = std::get<sizeof...(Arguments) - 2>(all);
        record.flags_known = 1;
        record.device = static_cast<std::uint64_t>(std::get<sizeof...(Arguments) - 1>(all));
        const CUresult result = timed<E>(record, out, arguments...);
        finish_create(record, answered(result, out));
        return result;
    }
};

struct destroy_context : WhilePaused {
    template <Entry E>
    static CUresult call(CUcontext context) noexcept {
        trace::Context record;
        const Leaving leaving = begin_destroy(context);
        const CUresult result = timed<E>(record, context);
        finish_destroy(record, leaving);
        return result;
    }
};

/// Programs and libraries often set the context that is current already; that costs a comparison.
struct set_context : WhilePaused {
    template <Entry E>
    static CUresult call(CUcontext context) noexcept {
        if (is_recorded_current(context) && context != nullptr)
            return attach::real<E>()(context);
        trace::Context record;
        const CUresult result = timed<E>(record, context);
        finish_current(record);
        return result;
    }
};

struct pop_context : WhilePaused {
    template <Entry E>
    static CUresult call(CUcontext* out) noexcept {
        trace::Context record;
        const CUresult result = timed<E>(record, out);
        finish_current(record);
        return result;
    }
};

struct retain_primary : WhilePaused {
    template <Entry E>
    static CUresult call(CUcontext* out, CUdevice device) noexcept {
        trace::Context record;
        const CUresult result = timed<E>(record, out, device);
        finish_retain(record, answered(result, out), device);
        return result;
    }
};

/// Sets how threads of the primary context wait.
struct set_primary_flags : WhilePaused {
    template <Entry E>
    static CUresult call(CUdevice device, unsigned flags) noexcept {
        trace::Context record;
        const CUresult result = timed<E>(record, device, flags);
        finish_flags(record, flags, device);
        return result;
    }
};

struct set_context_flags : WhilePaused {
    template <Entry E>
    static CUresult call(unsigned flags) noexcept {
        trace::Context record;
        const CUresult result = timed<E>(record, flags);
        finish_flags(record, flags, -1);
        return result;
    }
};

template <bool Reset>
struct LeavePrimary : WhilePaused {
    template <Entry E>
    static CUresult call(CUdevice device) noexcept {
        trace::Context record;
        const Leaving leaving = begin_leave_primary(device, Reset);
        const CUresult result = timed<E>(record, device);
        finish_leave_primary(record, leaving, device, Reset);
        return result;
    }
};
using release_primary = LeavePrimary<false>;
using reset_primary = LeavePrimary<true>;

struct create_green_context : WhilePaused {
    template <Entry E>
    static CUresult call(CUgreenCtx* out, CUdevResourceDesc description, CUdevice device,
                         unsigned flags) noexcept {
        trace::Context record;
        record.action = trace::ContextAction::create_green;
        record.device = static_cast<std::uint64_t>(device);
        record.flags = flags;
        const CUresult result = timed<E>(record, out, description, device, flags);
        finish_green(record, nullptr, answered(result, out));
        return result;
    }
};

struct destroy_green_context : WhilePaused {
    template <Entry E>
    static CUresult call(CUgreenCtx green) noexcept {
        trace::Context record;
        record.action = trace::ContextAction::destroy_green;
        const std::uint64_t begun = observe::captures_begun();
        const CUresult result = timed<E>(record, green);
        finish_destroy_green(record, green, begun);
        return result;
    }
};

struct context_from_green : WhilePaused {
    template <Entry E>
    static CUresult call(CUcontext* out, CUgreenCtx green) noexcept {
        trace::Context record;
        record.action = trace::ContextAction::from_green;
        const CUresult result = timed<E>(record, out, green);
        finish_green(record, answered(result, out), green);
        return result;
    }
};

void finish_peer(trace::Peer& record, CUcontext peer) noexcept;

/// Access from the current context's device to the other's.
template <trace::PeerAction Action>
struct PeerAccess : WhilePaused {
    template <Entry E, class... Flags>
    static CUresult call(CUcontext peer, Flags... flags) noexcept {
        trace::Peer record;
        record.action = Action;
        const CUresult result = timed<E>(record, peer, flags...);
        finish_peer(record, peer);
        return result;
    }
};
using enable_peer_access = PeerAccess<trace::PeerAction::enable>;
using disable_peer_access = PeerAccess<trace::PeerAction::disable>;

} // namespace umadvisor::wrappers
