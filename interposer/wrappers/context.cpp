#include "interposer/wrappers/context.hpp"

#include "interposer/record/current_context.hpp"

#include "interposer/act/action.hpp"
#include "interposer/act/stand_ins.hpp"
#include "interposer/observe/allocations.hpp"
#include "interposer/observe/contexts.hpp"
#include "interposer/observe/functions.hpp"
#include "interposer/observe/module_variables.hpp"
#include "interposer/observe/pools.hpp"
#include "interposer/record/off_stack.hpp"
#include "interposer/wrappers/allocation.hpp"

#include <atomic>

namespace umadvisor::wrappers {

namespace {

using attach::real;

/// Primary contexts, by device, as cuDevicePrimaryCtxRetain answered them.
constexpr CUdevice max_devices = 64;
constinit std::atomic<CUcontext> primary[max_devices] = {};

CUcontext current_context() {
    CUcontext context = nullptr;
    return real<Entry::cuCtxGetCurrent>()(&context) == CUDA_SUCCESS ? context : nullptr;
}

/// The id of a primary context's life: after a release it is created anew with the same handle, but with
/// another id; 0: not known.
unsigned long long life_of(CUcontext context) {
    unsigned long long id = 0;
    return context != nullptr && real<Entry::cuCtxGetId>()(context, &id) == CUDA_SUCCESS ? id : 0;
}

/// Whether the context lives on after the release, because it has other users. Another thread may have created
/// it anew meanwhile.
bool still_lives(CUdevice device, const Leaving& leaving) {
    unsigned flags = 0;
    int active = 0;
    if (real<Entry::cuDevicePrimaryCtxGetState>()(device, &flags, &active) != CUDA_SUCCESS || active == 0)
        return false;
    const unsigned long long life = leaving.life != 0 ? life_of(leaving.context) : 0;
    return life == 0 || life == leaving.life;
}

/// Frees all allocations with the number `owner`.
void forget_memory(const trace::Context& record, std::uint16_t owner) {
    constexpr std::size_t batch = 64;
    struct Batch {
        observe::Allocation all[batch];
    };
    const record::OffStack<Batch> removed;
    auto& gone = removed->all;
    for (std::size_t count = batch; owner != 0 && count == batch;) {
        count = observe::allocations().remove_context(owner, gone, batch);
        for (std::size_t i = 0; i < count; ++i)
            observe::module_variables().drop(gone[i].address);
        leave_parts(record, gone, count);
    }
    // Arrays one by one: levels of a mipmapped one are the same allocation.
    while (owner != 0 && observe::arrays().remove_context(owner, gone, 1) != 0) {
        leave_parts(record, gone, 1);
        observe::arrays().erase_all(gone[0].id);
    }
}

/// A call other than set_current may have changed the thread's current context, too.
void follow_current(const trace::Context& call) {
    if (is_recorded_current(current_context()))
        return;
    trace::Context record;
    record.entry = call.entry;
    record.start = call.start;
    finish_current(record);
}

void forget_all(const trace::Context& record, std::uint16_t number) {
    for (std::uint16_t each = number; each != 0; each = observe::take_alias(number)) {
        act::notify_started<&act::Action::on_context_end>(each);
        forget_memory(record, each);
    }
}

void went(const trace::Context& record, const Leaving& leaving) {
    observe::forget_captures(leaving.context, leaving.captures);
    forget_all(record, leaving.number);
    forget_all(record, leaving.device);
    observe::forget_module(0);
}

} // namespace

bool is_recorded_current(CUcontext context) noexcept {
    return number(context) == record::recorded_context().context;
}

void finish_current(trace::Context& record) noexcept {
    const KeepErrno keep;
    const CUcontext context = current_context();
    if (is_recorded_current(context) && record.status == CUDA_SUCCESS)
        return;
    record.action = trace::ContextAction::set_current;
    record.context = number(context);
    record.device = context != nullptr ? observe::current_device() : 0;
    record::recorded_context() = {record.context, record.device};
    record.stack = record::stack();
    record::write(record);
}

void finish_create(trace::Context& record, CUcontext context) noexcept {
    const KeepErrno keep;
    record.context = number(context);
    record.stack = record::stack();
    record::write(record);
    if (context != nullptr) {
        observe::retire_context(context); // a context that was destroyed unseen may have had its handle
        record::recorded_context() = {record.context, record.device};
    }
}

void finish_retain(trace::Context& record, CUcontext context, CUdevice device) noexcept {
    const KeepErrno keep;
    record.action = trace::ContextAction::retain_primary;
    record.context = number(context);
    record.device = static_cast<std::uint64_t>(device);
    unsigned flags = 0;
    int active = 0;
    if (context != nullptr &&
        real<Entry::cuDevicePrimaryCtxGetState>()(device, &flags, &active) == CUDA_SUCCESS) {
        record.flags = flags;
        record.flags_known = 1;
    }
    record.stack = record::stack();
    record::write(record);
    if (context != nullptr && device >= 0 && device < max_devices)
        primary[device].store(context, std::memory_order_relaxed);
}

void finish_flags(trace::Context& record, unsigned flags, CUdevice device) noexcept {
    const KeepErrno keep;
    record.action = trace::ContextAction::set_flags;
    record.context = device < 0 ? number(current_context()) : 0;
    record.device = device < 0 ? observe::current_device() : static_cast<std::uint64_t>(device);
    record.flags = flags;
    record.flags_known = record.status == CUDA_SUCCESS;
    record.stack = record::stack();
    record::write(record);
}

void finish_green(trace::Context& record, CUcontext context, CUgreenCtx green) noexcept {
    const KeepErrno keep;
    record.context = number(context);
    record.green = number(green);
    if (context != nullptr) {
        record.device = observe::device_of(context);
        if (record.device < max_devices)
            observe::join_context(context, primary[record.device].load(std::memory_order_relaxed));
    }
    record.stack = record::stack();
    record::write(record);
}

void finish_destroy_green(trace::Context& record, CUgreenCtx green, std::uint64_t begun) noexcept {
    if (record.status == CUDA_SUCCESS)
        observe::forget_captures(green, begun);
    finish_green(record, nullptr, green);
}

Leaving begin_destroy(CUcontext context) noexcept {
    const KeepErrno keep;
    return {context, observe::retire_context(context), 0, 0, observe::captures_begun()};
}

Leaving begin_leave_primary(CUdevice device, bool reset) noexcept {
    const KeepErrno keep;
    if (device < 0 || device >= max_devices)
        return {};
    const CUcontext context = primary[device].load(std::memory_order_relaxed);
    const auto ordinal = static_cast<std::uint32_t>(device);
    if (reset) {
        act::forget_device_twins(device);
        act::notify_started<&act::Action::before_reset>(device);
    }
    const unsigned long long life = reset ? 0 : life_of(context);
    return {context, observe::retire_context(context),
            reset ? observe::retire_device(ordinal) : std::uint16_t{0}, life, observe::captures_begun()};
}

void finish_destroy(trace::Context& record, const Leaving& leaving) noexcept {
    const KeepErrno keep;
    record.action = trace::ContextAction::destroy;
    record.context = number(leaving.context);
    record.stack = record::stack();
    record::write(record);
    if (record.status != CUDA_SUCCESS)
        return observe::restore_context(leaving.context, leaving.number);
    went(record, leaving);
    follow_current(record);
}

void finish_leave_primary(trace::Context& record, const Leaving& leaving, CUdevice device,
                          bool reset) noexcept {
    const KeepErrno keep;
    record.action = reset ? trace::ContextAction::reset_primary : trace::ContextAction::release_primary;
    record.context = number(leaving.context);
    record.device = static_cast<std::uint64_t>(device);
    record.stack = record::stack();
    record::write(record);
    if (record.status != CUDA_SUCCESS || (!reset && still_lives(device, leaving))) {
        observe::restore_context(leaving.context, leaving.number);
        observe::restore_device(static_cast<std::uint32_t>(device), leaving.device);
        return;
    }
    if (reset)
        observe::forget_pools();
    went(record, leaving);
    follow_current(record);
}

void finish_peer(trace::Peer& record, CUcontext peer) noexcept {
    const KeepErrno keep;
    record.device = observe::current_device();
    record.peer = observe::device_of(peer);
    if (record.status == CUDA_SUCCESS && record.action == trace::PeerAction::enable)
        act::notify_started<&act::Action::on_share>(std::uint64_t{0});
    record.stack = record::stack();
    record::write(record);
}

} // namespace umadvisor::wrappers
