#include "interposer/act/prefetch.hpp"

#include "interposer/act/bring.hpp"
#include "interposer/act/bring_ahead.hpp"
#include "interposer/act/devices.hpp"
#include "interposer/act/knowledge.hpp"
#include "interposer/act/left_round.hpp"
#include "interposer/act/placement.hpp"
#include "interposer/act/plan.hpp"
#include "interposer/act/relieve.hpp"
#include "interposer/observe/capture.hpp"
#include "interposer/observe/residency_sampler.hpp"
#include "interposer/record/clock.hpp"
#include "interposer/record/off_stack.hpp"
#include "interposer/record/quiet.hpp"
#include "interposer/record/recorder.hpp"

#include <atomic>

namespace umadvisor::act {

constinit Knowledge knowledge;
constinit Mode prefetch_mode{"prefetch"};

Reached& reached() noexcept {
    return record::kept_of_thread<Reached, 0>();
}

namespace {

constinit std::atomic<bool> told_blind{false};

constexpr observe::ResidencyListener listener{
    .looking =
        [](const observe::Allocation& allocation, std::uint64_t first, std::uint64_t last) noexcept {
            const record::Guard guard(knowledge.mutex);
            knowledge.host_returns.looking(allocation.id);
            knowledge.residency.looking(allocation.id, first, last);
        },
    .host =
        [](const observe::Allocation& allocation, std::uint64_t first, std::uint64_t last) noexcept {
            const record::Guard guard(knowledge.mutex);
            if (!knowledge.residency.on_host(allocation.id, first, last))
                knowledge.host_returns.took(allocation.id, first, last);
            knowledge.residency.found_on_host(allocation.id, first, last);
        },
    .curious =
        [](const observe::Allocation& allocation, const observe::LookOccasion& occasion) noexcept {
            // What the device has no room for is left to faults, which the trace shall show.
            const std::uint64_t card = allocation.device < policy::max_devices
                                           ? state_of(static_cast<CUdevice>(allocation.device)).memory_bytes
                                           : 0;
            const record::Guard guard(knowledge.mutex);
            if (knowledge.residency.device_bytes(allocation.device) + allocation.bytes > card)
                return observe::LookRange::of(allocation);
            if (occasion.moment != trace::SampleMoment::before_launch)
                return knowledge.residency.on_trial(allocation.id) ? observe::LookRange::of(allocation)
                                                                   : observe::LookRange{};
            if (knowledge.residency.untouched(allocation.id, occasion.host_faults)) {
                knowledge.host_returns.looking(allocation.id); // it would see nothing
                return observe::LookRange{};
            }
            const policy::ResidencyMap::Part part =
                knowledge.residency.worth_a_look(allocation.id, occasion.host_faults);
            return observe::LookRange{part.first, part.last};
        },
    .brought =
        [](const observe::Allocation& allocation) noexcept {
            const record::Guard guard(knowledge.mutex);
            return knowledge.host_returns.has_brought(allocation.id);
        },
};

bool takes_turns(const observe::Allocation& allocation) {
    const record::Guard guard(knowledge.mutex);
    return knowledge.turns.concerns(allocation.id);
}

/// Of memory that several devices reach. Copies that they have by our advice end.
void leave_turns(const observe::Allocation& allocation) {
    bool copies = false;
    {
        const record::Guard guard(knowledge.mutex);
        copies = knowledge.turns.leave(allocation.id);
    }
    if (!copies)
        return;
    const record::Quiet quiet;
    const observe::RelaxedCapture relaxed;
    advise({allocation.id, allocation.address, allocation.bytes}, CU_MEM_ADVISE_UNSET_READ_MOSTLY,
           CU_DEVICE_CPU, trace::Reason::no_relief);
}

/// The program has said itself whether each device may have one.
void leave_copies_to_program(std::uint64_t address) {
    observe::Allocation allocation;
    if (!prefetch_mode.on.load(std::memory_order_acquire) || !observe::allocations().find(address, allocation))
        return;
    const record::Guard guard(knowledge.mutex);
    knowledge.turns.leave(allocation.id);
}

} // namespace

void start_prefetching() noexcept {
    observe::residency_sampler().add_listener(&listener);
    prefetch_mode.on.store(true, std::memory_order_release);
}

void before_launch(CUstream stream, attach::Entry launch_entry, const observe::Touched& touched,
                   std::uint64_t stack) noexcept {
    if (!prefetch_mode.on.load(std::memory_order_acquire))
        return;
    if (!touched.scanned && !told_blind.load(std::memory_order_relaxed) && !told_blind.exchange(true))
        record::note("--act prefetch: launches whose parameters this driver does not tell (before CUDA 12.4) "
                     "are left alone");
    if (touched.managed_count == 0 && !touched.leads_on)
        return;
    if (forbids_prefetches() && never_prefetch(record::stack_key(stack)))
        return;
    const CUstream handle =
        stream == nullptr && attach::uses_per_thread_stream(launch_entry) ? CU_STREAM_PER_THREAD : stream;
    end_left_round(stack);
    await_ahead(handle);
    bring_to_device(touched, {handle, stack});
    plan_return(touched, {handle, stack});
    plan_ahead(touched, {handle, stack});
}

void after_launch(bool launched) noexcept {
    if (!prefetch_mode.on.load(std::memory_order_acquire))
        return;
    return_behind(launched);
    bring_ahead();
}

std::uint64_t wait_begins() noexcept {
    return prefetch_mode.on.load(std::memory_order_acquire) ? record::monotonic_nanoseconds() : 0;
}

void after_synchronize(const Wait& wait) noexcept {
    if (!prefetch_mode.on.load(std::memory_order_acquire))
        return;
    const bool seen = observe::residency_sampler().works();
    {
        const record::Guard guard(knowledge.mutex);
        constexpr std::uint64_t none = ~std::uint64_t{0};
        knowledge.residency.synchronized(seen, wait.what == Wait::For::everything,
                                         wait.what == Wait::For::stream ? wait.stream : none);
    }
    count_wait();
    bring_home(wait);
}

void note_prefetch(const trace::Prefetch& done) noexcept {
    if (!prefetch_mode.on.load(std::memory_order_acquire))
        return;
    observe::Allocation allocation;
    if (!observe::allocations().find(done.address, allocation) || allocation.memory != trace::Memory::managed)
        return;
    if (takes_turns(allocation)) // who prefetches by hand knows which part goes where
        leave_turns(allocation);
    const record::Guard guard(knowledge.mutex);
    policy::ResidencyView view;
    if (!knowledge.residency.see(allocation.id, allocation.address, allocation.bytes, view))
        return;
    const bool to_device = done.location == trace::Location::device;
    if (to_device)
        knowledge.residency.wanted_on(allocation.id, static_cast<std::uint32_t>(done.location_id));
    knowledge.residency.moved(allocation.id, done.address, done.address + done.bytes,
                              to_device ? policy::BlockState::device : policy::BlockState::unknown);
}

void leave_to_faults(std::uint64_t address, std::uint64_t bytes, bool alone) noexcept {
    observe::Allocation allocation;
    if (!prefetch_mode.on.load(std::memory_order_acquire) ||
        !observe::allocations().find(address, allocation) || allocation.memory != trace::Memory::managed)
        return;
    leave_turns(allocation);
    const std::uint64_t last = bytes != 0 ? address + bytes : allocation.address + allocation.bytes;
    const record::Guard guard(knowledge.mutex);
    policy::ResidencyView view;
    if (knowledge.residency.see(allocation.id, allocation.address, allocation.bytes, view))
        knowledge.residency.leave_alone(allocation.id, address, last, alone);
}

void note_advice(const trace::Advise& advice) noexcept {
    leave_unrelieved(advice.address);
    const bool home =
        advice.advice == CU_MEM_ADVISE_SET_PREFERRED_LOCATION && advice.location != trace::Location::device;
    const bool from_afar =
        advice.advice == CU_MEM_ADVISE_SET_ACCESSED_BY && advice.location == trace::Location::device;
    if (advice.advice == CU_MEM_ADVISE_SET_READ_MOSTLY || advice.advice == CU_MEM_ADVISE_UNSET_READ_MOSTLY)
        leave_copies_to_program(advice.address);
    else
        leave_to_faults(advice.address, advice.bytes, home || from_afar);
}

void note_attachment(const trace::Attach& attachment) noexcept {
    leave_unrelieved(attachment.address);
    leave_to_faults(attachment.address, attachment.bytes, (attachment.flags & CU_MEM_ATTACH_HOST) != 0);
}

void note_upload(const trace::Copy& copy) noexcept {
    using trace::Memory;
    if (!prefetch_mode.on.load(std::memory_order_acquire) || observe::allocations().managed_count() == 0 ||
        copy.captured != 0 || copy.width != 0 || copy.bytes > Pointees::most_bytes)
        return;
    const bool from_host = copy.source_memory == Memory::pageable || copy.source_memory == Memory::pinned ||
                           copy.source_memory == Memory::registered;
    observe::Allocation holder;
    if (!from_host || !observe::allocations().find(copy.destination, holder) ||
        (holder.memory != Memory::device && holder.memory != Memory::managed))
        return;
    bool points = false;
    {
        const record::Guard guard(knowledge.mutex);
        points = knowledge.pointees.copied(holder, copy.destination, copy.source, copy.bytes);
    }
    if (points && holder.memory == Memory::device && !holder.leads_on)
        observe::allocations().set_leads_on(holder.address);
}

bool note_resident(const observe::Allocation& allocation) noexcept {
    if (!prefetch_mode.on.load(std::memory_order_acquire))
        return false;
    const record::Guard guard(knowledge.mutex);
    policy::ResidencyView view;
    if (knowledge.residency.see(allocation.id, allocation.address, allocation.bytes, view) &&
        knowledge.residency.wanted_on(allocation.id, allocation.device) == policy::ResidencyMap::Wanted::here)
        knowledge.residency.moved(allocation.id, allocation.address, allocation.address + allocation.bytes,
                                  policy::BlockState::device);
    return true;
}

void note_unsettled(std::uint64_t allocation, std::uint64_t first, std::uint64_t bytes) noexcept {
    if (!prefetch_mode.on.load(std::memory_order_acquire))
        return;
    const record::Guard guard(knowledge.mutex);
    knowledge.residency.moved(allocation, first, first + bytes, policy::BlockState::unknown);
}

void note_allocation(const observe::Allocation& allocation, std::uint64_t stack) noexcept {
    if (!prefetch_mode.on.load(std::memory_order_acquire))
        return;
    if (const CUdevice device = current_device(); device >= 0)
        note_others(device); // a launch, which would, has it waiting
    const record::Guard guard(knowledge.mutex);
    knowledge.names.add(allocation.id, allocation.bytes, stack, record::stack_key(stack));
}

void forget_pointees(const observe::Allocation& allocation) noexcept {
    const record::Guard guard(knowledge.mutex);
    knowledge.pointees.forget(allocation.id);
}

void forget_residency(const observe::Allocation& allocation) noexcept {
    if (!prefetch_mode.on.load(std::memory_order_acquire))
        return;
    const record::Guard guard(knowledge.mutex);
    knowledge.residency.forget(allocation.id);
    knowledge.turns.forget(allocation.id);
    knowledge.pointees.forget(allocation.id);
    knowledge.names.remove(allocation.id);
}

} // namespace umadvisor::act
