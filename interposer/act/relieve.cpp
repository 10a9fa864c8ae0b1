/// `--act relieve`: managed memory that migrates back and forth between host and device gets the advice that
/// stops it, and keeps the advice while rounds are clearly better with it.
///
/// It needs the driver's tools queue, the only source that shows which side writes, and is off without it. An
/// allocation that the program has advised on itself is never touched.
#include "interposer/act/devices.hpp"
#include "interposer/act/placement.hpp"
#include "interposer/act/prefetch.hpp"
#include "interposer/observe/capture.hpp"
#include "interposer/observe/managed_watch.hpp"
#include "interposer/record/mutex.hpp"
#include "interposer/record/quiet.hpp"
#include "interposer/record/recorder.hpp"
#include "policy/relief_policy.hpp"

namespace umadvisor::act {

namespace {

using Kind = policy::ReliefStep::Kind;

record::Mutex relief_mutex{
    record::Lock::actions}; ///< guards the policy; never held during a call of the driver
constinit policy::ReliefPolicy policy;
constinit std::atomic<int> relief_notices{0};
constexpr int most_relief_notices = 16; ///< further steps are in the trace as Advise records alone

bool writes(const trace::ManagedEvent& fault) {
    const auto access = static_cast<trace::FaultAccess>(fault.cause);
    return access == trace::FaultAccess::write || access == trace::FaultAccess::atomic;
}

void on_event(const trace::ManagedEvent& event) noexcept {
    const std::uint64_t last = event.address + event.bytes;
    observe::Allocation allocation;
    const auto update = [&](auto&& change) {
        if (!observe::allocations().find(event.address, allocation))
            return;
        const record::Guard guard(relief_mutex);
        change();
    };
    switch (event.kind) {
    case trace::ManagedEventKind::host_fault:
        return update(
            [&] { policy.host_fault(allocation.id, event.address, last, 1 + event.count, writes(event)); });
    case trace::ManagedEventKind::thrashing:
    case trace::ManagedEventKind::throttling:
        return update([&] { policy.thrashed(allocation.id); });
    case trace::ManagedEventKind::read_duplicate_end:
        return update([&] { policy.copies_ended(allocation.id); });
    default:
        return;
    }
}

const char* name_of(policy::Remedy remedy) {
    return remedy == policy::Remedy::read_mostly ? "SetReadMostly" : "SetAccessedBy of the device";
}

unsigned long long kib(std::uint64_t bytes) {
    return (bytes + 1023) / 1024;
}

/// The advice is never a preferred location on the host: copies from such memory to the device overtake earlier
/// work in the legacy default stream (driver 580; docs/measurements.md).
CUresult give(const policy::PrefetchRange& range, policy::Remedy remedy, CUdevice device) {
    return remedy == policy::Remedy::read_mostly
               ? advise(range, CU_MEM_ADVISE_SET_READ_MOSTLY, device, trace::Reason::read_by_both)
               : advise(range, CU_MEM_ADVISE_SET_ACCESSED_BY, device, trace::Reason::small_and_shared);
}

CUresult withdraw(const policy::PrefetchRange& range, policy::Remedy remedy, CUdevice device) {
    return advise(range,
                  remedy == policy::Remedy::read_mostly ? CU_MEM_ADVISE_UNSET_READ_MOSTLY
                                                        : CU_MEM_ADVISE_UNSET_ACCESSED_BY,
                  device, trace::Reason::no_relief);
}

void note_step(const observe::Allocation& allocation, const policy::ReliefStep& step) {
    if (step.kind == Kind::leave && runtime::options().asks(trace::ActMode::prefetch))
        return; // --act prefetch moves it
    if (relief_notices.fetch_add(1, std::memory_order_relaxed) >= most_relief_notices)
        return;
    const unsigned long long part = kib(step.bytes), all = kib(allocation.bytes);
    const record::About about{.allocation = allocation.id};
    if (step.kind == Kind::leave)
        record::note(
            about,
            "--act relieve leaves a managed allocation of %llu KiB alone: host and device change %llu KiB "
            "of it in turns, which --act prefetch moves",
            all, part);
    else if (step.kind == Kind::give)
        record::note(
            about,
            "--act relieve: %s for %llu KiB of a managed allocation of %llu KiB, which host and device %s "
            "in turns",
            name_of(step.remedy), part, all, step.remedy == policy::Remedy::read_mostly ? "read" : "use");
    else
        record::note(about, "--act relieve: took %s back for %llu KiB of a managed allocation of %llu KiB: %s",
                     name_of(step.remedy), part, all, step.why);
}

void carry_out(const observe::Allocation& allocation, const policy::ReliefStep& step, CUdevice device) {
    const policy::PrefetchRange range{allocation.id, step.address, step.bytes};
    const bool giving = step.kind == Kind::give;
    const CUresult answer = step.kind == Kind::leave ? CUDA_SUCCESS
                            : giving                 ? give(range, step.remedy, device)
                                                     : withdraw(range, step.remedy, device);
    if (answer != CUDA_SUCCESS) { // the memory goes on migrating, as without us
        modes::relieve.fail(answer);
        const record::Guard guard(relief_mutex);
        return policy.leave_alone(allocation.id);
    }
    if (step.kind != Kind::leave)
        leave_to_faults(step.address, step.bytes, giving);
    note_step(allocation, step);
}

void before_launch(LaunchScope& launch) noexcept {
    const observe::Touched& touched = launch.touched;
    if (touched.managed_count == 0 || !observe::nothing_is_captured())
        return;
    if (!observe::managed_watch().delivers()) {
        if (observe::managed_watch().settled() && modes::relieve.on.exchange(false))
            record::note("--act relieve is off: it needs the driver's tools queue, the only source of who "
                         "writes managed memory");
        return;
    }
    const record::Quiet quiet;
    observe::managed_watch().deliver();
    const std::uint64_t now = record::now();
    for (std::uint32_t i = 0; i < touched.managed_count; ++i) {
        const observe::Allocation& allocation = touched.managed[i];
        if (allocation.rewritten) // the program takes it for device memory, so the host does not touch it
            continue;
        policy::ReliefStep step;
        {
            const record::Guard guard(relief_mutex);
            step = policy.launch(allocation.id, allocation.address, allocation.bytes, now);
        }
        if (step.kind == Kind::none)
            continue;
        const observe::RelaxedCapture relaxed;
        if (const CUdevice device = current_device(); device >= 0) {
            carry_out(allocation, step, device);
        } else { // the policy counts the step as done
            const record::Guard guard(relief_mutex);
            policy.leave_alone(allocation.id);
        }
    }
}

void end_round() noexcept {
    const std::uint64_t activity = observe::managed_watch().activity();
    bool rest = false;
    {
        const record::Guard guard(relief_mutex);
        policy.waited(activity);
        rest = policy.has_no_concern();
    }
    observe::managed_watch().suspend(rest);
}

/// The program has advised the driver itself on the allocation that holds `address`.
void leave_unrelieved(std::uint64_t address) {
    observe::Allocation allocation;
    if (!observe::allocations().find(address, allocation))
        return;
    const record::Guard guard(relief_mutex);
    policy.leave_alone(allocation.id);
}

bool start(const runtime::Options& options, const DeviceCount&) noexcept {
    if (options.act_auto)
        policy.leave_turns_to_prefetches();
    observe::managed_watch().set_listener(&on_event);
    return true;
}

} // namespace

observe::LookRange relief_looks(const observe::Allocation& allocation,
                                const observe::LookOccasion& occasion) noexcept {
    if (occasion.moment != trace::SampleMoment::before_launch)
        return observe::LookRange::of(
            allocation); // what migrates back before the next launch is the difference to this look
    observe::managed_watch().deliver();
    const record::Guard guard(relief_mutex);
    return policy.needs_content(allocation.id) ? observe::LookRange::of(allocation) : observe::LookRange{};
}

void relief_sees(const observe::Allocation& allocation, std::uint64_t content) noexcept {
    const record::Guard guard(relief_mutex);
    policy.came_back(allocation.id, content);
}

constinit Action modes::relieve{
    .name = "relieve",
    .start = &start,
    .before_launch = &before_launch,
    .before_set =
        [](const trace::Set& set) noexcept {
            const record::Guard guard(relief_mutex);
            policy.written(static_cast<std::uint64_t>(set.allocation));
        },
    .end_round = &end_round,
    .on_advice = [](const trace::Advise& advice) noexcept { leave_unrelieved(advice.address); },
    .on_attachment = [](const trace::Attach& attachment) noexcept { leave_unrelieved(attachment.address); },
    .on_free =
        [](const observe::Allocation& allocation) noexcept {
            const record::Guard guard(relief_mutex);
            policy.forget(allocation.id);
        },
};

} // namespace umadvisor::act
