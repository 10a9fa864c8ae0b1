#include "interposer/act/prefetch.hpp"

#include "interposer/act/devices.hpp"
#include "interposer/act/placement.hpp"
#include "interposer/act/plan.hpp"
#include "interposer/observe/capture.hpp"
#include "interposer/record/off_stack.hpp"
#include "interposer/record/quiet.hpp"

namespace umadvisor::act {

constinit Knowledge knowledge;

ThreadKnowledge& of_thread() noexcept {
    return record::kept_of_thread<ThreadKnowledge, record::Kept::prefetching>();
}

namespace {

constinit std::atomic<bool> blindness_noted{false};

bool is_shared_by_devices(const observe::Allocation& allocation) {
    const record::Guard guard(knowledge.mutex);
    return knowledge.turns.concerns(allocation.id);
}

/// Leaves memory that several devices reach to faults, and ends copies that they have by our advice.
void leave_shared_to_faults(const observe::Allocation& allocation) {
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

/// The program has advised itself whether each device may have a copy.
void leave_copies_to_program(std::uint64_t address) {
    observe::Allocation allocation;
    if (!modes::prefetch.is_on() || !observe::allocations().find(address, allocation))
        return;
    const record::Guard guard(knowledge.mutex);
    knowledge.turns.leave(allocation.id);
    knowledge.small_turns.leave(allocation.id, allocation.bytes);
}

void before_launch(LaunchScope& launch) noexcept {
    const observe::Touched& touched = launch.touched;
    if (!touched.scanned && !blindness_noted.load(std::memory_order_relaxed) && !blindness_noted.exchange(true))
        record::note("--act prefetch: launches whose parameters this driver does not report (before CUDA 12.4) "
                     "are left alone");
    if (touched.managed_count == 0 && !touched.holds_pointers)
        return;
    if (plan_leaves(trace::ActMode::prefetch, launch.stack))
        return;
    of_thread().left.end(launch.stack);
    await_ahead(launch.stream);
    bring_to_device(touched, launch);
    plan_returns(launch);
    plan_ahead(launch);
}

/// A set is the device's first use of small memory in many a loop: the launches behind it find it there.
void before_set(const trace::Set& set) noexcept {
    observe::Allocation allocation;
    if (!observe::allocations().find(set.address, allocation) ||
        allocation.bytes > policy::SmallTurns::most_bytes || plan_leaves(trace::ActMode::prefetch, set.stack))
        return;
    const record::OffStack<observe::Touched> touched;
    touched->managed[touched->managed_count++] = allocation;
    look_before_launch(*touched);
    bring_to_device(*touched, {reinterpret_cast<CUstream>(set.stream), set.stack});
}

void after_launch(LaunchScope& launch) noexcept {
    make_returns(launch);
    bring_ahead(launch);
}

void after_wait(const Wait& wait) noexcept {
    const bool seen = observe::residency_sampler().works();
    {
        const record::Guard guard(knowledge.mutex);
        constexpr std::uint64_t none = ~std::uint64_t{0};
        knowledge.residency.synchronized(seen, wait.what == Wait::For::everything,
                                         wait.what == Wait::For::stream ? wait.stream : none);
    }
    ++of_thread().left.waits;
    bring_to_host(wait);
}

void on_prefetch(const trace::Prefetch& done) noexcept {
    observe::Allocation allocation;
    if (!observe::allocations().find(done.address, allocation) || allocation.memory != trace::Memory::managed)
        return;
    if (is_shared_by_devices(allocation)) // a program that prefetches itself knows which part belongs where
        leave_shared_to_faults(allocation);
    const record::Guard guard(knowledge.mutex);
    knowledge.small_turns.leave(allocation.id, allocation.bytes);
    policy::ResidencyView view;
    if (!knowledge.residency.see(allocation.id, allocation.address, allocation.bytes, view))
        return;
    const bool to_device = done.location == trace::Location::device;
    if (to_device)
        knowledge.residency.note_user(allocation.id, static_cast<std::uint32_t>(done.location_id));
    knowledge.residency.moved(allocation.id, done.address, done.address + done.bytes,
                              to_device ? policy::BlockState::device : policy::BlockState::unknown);
}

void on_advice(const trace::Advise& advice) noexcept {
    const bool on_host =
        advice.advice == CU_MEM_ADVISE_SET_PREFERRED_LOCATION && advice.location != trace::Location::device;
    const bool remote =
        advice.advice == CU_MEM_ADVISE_SET_ACCESSED_BY && advice.location == trace::Location::device;
    if (advice.advice == CU_MEM_ADVISE_SET_READ_MOSTLY || advice.advice == CU_MEM_ADVISE_UNSET_READ_MOSTLY)
        leave_copies_to_program(advice.address);
    else
        leave_to_faults(advice.address, advice.bytes, on_host || remote);
}

void on_attachment(const trace::Attach& attachment) noexcept {
    leave_to_faults(attachment.address, attachment.bytes, (attachment.flags & CU_MEM_ATTACH_HOST) != 0);
}

/// After the copy, since reading pageable memory before it may be the first touch of it.
void after_copy(trace::Copy& copy) noexcept {
    using trace::Memory;
    if (observe::allocations().managed_count() == 0 || copy.status != CUDA_SUCCESS || copy.captured != 0 ||
        copy.width != 0 || copy.bytes > Pointees::most_bytes)
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
    if (points && holder.memory == Memory::device && !holder.holds_pointers)
        observe::allocations().set_holds_pointers(holder.address);
}

void on_move(std::uint64_t allocation, std::uint64_t first, std::uint64_t bytes) noexcept {
    const record::Guard guard(knowledge.mutex);
    knowledge.residency.moved(allocation, first, first + bytes, policy::BlockState::unknown);
}

void on_allocation(const observe::Allocation& allocation, std::uint64_t stack) noexcept {
    if (!modes::prefetch.is_on() || allocation.memory != trace::Memory::managed)
        return;
    if (const CUdevice device = current_device(); device >= 0)
        note_others(device); // here, since a launch would have to wait for it
    const record::Guard guard(knowledge.mutex);
    knowledge.names.add(allocation.id, allocation.bytes, stack, record::stack_key(stack));
}

void on_free(const observe::Allocation& allocation) noexcept {
    if (allocation.memory != trace::Memory::managed && !allocation.holds_pointers)
        return;
    const record::Guard guard(knowledge.mutex);
    knowledge.pointees.forget(allocation.id);
    if (allocation.memory != trace::Memory::managed)
        return;
    knowledge.residency.forget(allocation.id);
    knowledge.turns.forget(allocation.id);
    knowledge.small_turns.forget(allocation.id);
    knowledge.names.remove(allocation.id);
}

} // namespace

void leave_to_faults(std::uint64_t address, std::uint64_t bytes, bool alone) noexcept {
    observe::Allocation allocation;
    if (!modes::prefetch.is_on() || !observe::allocations().find(address, allocation) ||
        allocation.memory != trace::Memory::managed)
        return;
    leave_shared_to_faults(allocation);
    const std::uint64_t last = bytes != 0 ? address + bytes : allocation.address + allocation.bytes;
    const record::Guard guard(knowledge.mutex);
    knowledge.small_turns.leave(allocation.id, allocation.bytes);
    policy::ResidencyView view;
    if (knowledge.residency.see(allocation.id, allocation.address, allocation.bytes, view))
        knowledge.residency.leave_alone(allocation.id, address, last, alone);
}

bool note_resident(const observe::Allocation& allocation) noexcept {
    if (!modes::prefetch.is_on())
        return false;
    const record::Guard guard(knowledge.mutex);
    policy::ResidencyView view;
    if (knowledge.residency.see(allocation.id, allocation.address, allocation.bytes, view) &&
        knowledge.residency.note_user(allocation.id, allocation.device) ==
            policy::ResidencyMap::Users::this_device)
        knowledge.residency.moved(allocation.id, allocation.address, allocation.address + allocation.bytes,
                                  policy::BlockState::device);
    return true;
}

observe::LookRange prefetching_looks(const observe::Allocation& allocation,
                                     const observe::LookOccasion& occasion) noexcept {
    // Memory that does not fit the device is left to faults; the trace shows them, so all of it is looked at.
    const std::uint64_t card = allocation.device < policy::max_devices
                                   ? state_of(static_cast<CUdevice>(allocation.device)).memory_bytes
                                   : 0;
    const record::Guard guard(knowledge.mutex);
    policy::ResidencyMap& residency = knowledge.residency;
    if (residency.device_bytes(allocation.device) + allocation.bytes > card)
        return observe::LookRange::of(allocation);
    if (occasion.moment != trace::SampleMoment::before_launch)
        return residency.on_trial(allocation.id) ? observe::LookRange::of(allocation) : observe::LookRange{};
    if (knowledge.leaves_small(allocation.id))
        return {};
    if (residency.untouched(allocation.id, occasion.host_faults)) {
        knowledge.host_returns.looking(allocation.id); // a look would find nothing
        return {};
    }
    const policy::ResidencyMap::Part part = residency.worth_a_look(allocation.id, occasion.host_faults);
    return {part.first, part.last};
}

void prefetching_sees(const observe::Allocation& allocation, observe::LookRange range, bool host) noexcept {
    const record::Guard guard(knowledge.mutex);
    if (!host) {
        knowledge.host_returns.looking(allocation.id);
        knowledge.residency.looking(allocation.id, range.first, range.last);
        return;
    }
    if (!knowledge.residency.on_host(allocation.id, range.first, range.last)) {
        knowledge.host_returns.host_has(allocation.id, range.first, range.last);
        knowledge.small_turns.host_has(allocation.id);
    }
    knowledge.residency.found_on_host(allocation.id, range.first, range.last);
}

bool was_brought(const observe::Allocation& allocation) noexcept {
    const record::Guard guard(knowledge.mutex);
    return knowledge.host_returns.has_brought(allocation.id) ||
           knowledge.small_turns.has_returned(allocation.id);
}

constinit Action modes::prefetch{
    .name = "prefetch",
    .before_launch = &before_launch,
    .after_launch = &after_launch,
    .after_copy = &after_copy,
    .before_set = &before_set,
    .after_wait = &after_wait,
    .on_prefetch = &on_prefetch,
    .on_advice = &on_advice,
    .on_attachment = &on_attachment,
    .on_move = &on_move,
    .on_allocation = &on_allocation,
    .on_free = &on_free,
    .on_context_end = &forget_ahead,
};

} // namespace umadvisor::act
