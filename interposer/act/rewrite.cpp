/// `--act rewrite=...`: device memory that the program asks for becomes managed memory.
#include "interposer/act/devices.hpp"
#include "interposer/act/host.hpp"
#include "interposer/act/placement.hpp"
#include "interposer/act/plan.hpp"
#include "interposer/act/prefetch.hpp"
#include "interposer/act/stand_ins.hpp"
#include "interposer/attach/real.hpp"
#include "interposer/observe/capture.hpp"
#include "interposer/record/quiet.hpp"
#include "interposer/record/recorder.hpp"
#include "interposer/record/stacks.hpp"
#include "interposer/runtime/message.hpp"

#include <cstdio>
#include <cstdlib>
#include <string_view>

namespace umadvisor::act {

namespace {

using attach::Entry;
using attach::real;

/// An action of its own, since its failures must not switch off rewriting: without a preferred location
/// rewritten memory is only slower.
constinit Action locating{.name = "rewrite's prefetch"};
constinit bool spills = false; ///< rewrite=spill; this and the next two are written before the action is on
constinit std::uint64_t least_bytes = 0;
constinit std::uint64_t asked_budget = 0;
constinit std::atomic<bool> ever_rewritten{false};
constinit std::atomic<bool> some_have_location[policy::max_devices]; ///< a preferred location on the device
constinit std::atomic_flag budget_noted{}, capture_noted{}, plan_noted{};

constexpr std::string_view transports[] = {"libnccl", "libmpi", "libucp", "libucm", "libuct", "libnvshmem"};

/// Counted outwards from the driver's entry point. The runtime has two to four between a caller and the driver.
constexpr int nearest_frames = 8;

/// By stack id: id << 1 | verdict. Ids are never used again.
constinit std::atomic<std::uint64_t> verdicts[1024];
constinit std::atomic_flag transport_noted{};

/// Whether NCCL, MPI, UCX or NVSHMEM made the driver call that this thread is in, itself or through the
/// runtime. These libraries share device memory with other processes and network cards. Managed memory cannot
/// be shared like that, and some of them would not notice. False without call stacks. Cheap for a known stack.
bool is_called_by_transport() {
    const std::uint64_t stack = record::stack();
    if (stack == 0)
        return false;
    std::atomic<std::uint64_t>& known = verdicts[stack % std::size(verdicts)];
    if (const std::uint64_t verdict = known.load(std::memory_order_relaxed); verdict >> 1 == stack)
        return (verdict & 1) != 0;
    const std::string_view library = record::object_on_stack(stack, nearest_frames, transports);
    if (!library.empty() && !transport_noted.test_and_set(std::memory_order_relaxed))
        record::note("--act rewrite: what %.*s allocates is left to the driver",
                     static_cast<int>(library.size()), library.data());
    known.store(stack << 1 | (library.empty() ? 0 : 1), std::memory_order_relaxed);
    return !library.empty();
}

/// Whether a process is left alone unless rewrite is named twice. `text` gets the reason.
bool is_unsafe(char* text, std::size_t capacity) {
    if (const World world = launcher_world(); world.size > 1)
        std::snprintf(text, capacity,
                      "%s says that this is one process of %llu, and memory that they share must stay "
                      "as it is",
                      world.variable, static_cast<unsigned long long>(world.size));
    else if (record::stack() == 0)
        std::snprintf(text, capacity,
                      "without call stacks it is unknown what NCCL, MPI, UCX or NVSHMEM allocate");
    else
        return false;
    return true;
}

Budget budget_of(CUdevice device) {
    if (asked_budget != 0)
        return {asked_budget, false};
    if (spills)
        return {host_share(), true};
    return {policy::room_of(state_of(device)), false};
}

/// Whether the plan leaves the call that this thread is in to the driver.
bool is_left_by_plan() {
    if (!plan_leaves(trace::ActMode::rewrite, record::stack()))
        return false;
    if (!plan_noted.test_and_set(std::memory_order_relaxed))
        record::note("--act rewrite: what call sites of the plan allocate is left to the driver");
    return true;
}

bool has_rewritable_pool(const StreamOrder& order, CUdevice device, CUmemoryPool& pool) {
    if (current_context_of(order.stream) != nullptr) // else the pool may be that of another device
        pool = rewritable_pool(order.pool, device);
    return pool != nullptr;
}

/// The device on which the allocation is to be rewritten. -1: it is left to the driver, and if the plan says so
/// the record gets the reason. `pool`: that of a stream-ordered allocation.
CUdevice device_to_rewrite_on(const AllocationScope& asked, CUmemoryPool& pool) {
    if (asked.out == nullptr || asked.bytes == 0)
        return -1;
    if (!observe::nothing_is_captured()) {
        if (!capture_noted.test_and_set(std::memory_order_relaxed))
            record::note("--act rewrite: what is allocated while a stream captures is left to the driver");
        return -1;
    }
    const CUdevice device = current_device();
    if (device < 0 || is_called_by_transport() ||
        (asked.order != nullptr && !has_rewritable_pool(*asked.order, device, pool)))
        return -1;
    if (is_left_by_plan()) {
        asked.record.reason = trace::Reason::never_rewrite;
        return -1;
    }
    return device;
}

/// The driver's answer; CUDA_ERROR_NOT_SUPPORTED also if there is no managed twin of the program's pool.
CUresult make_managed(CUdevice device, const AllocationScope& asked, CUmemoryPool pool, CUdeviceptr& address) {
    if (asked.order == nullptr)
        return real<Entry::cuMemAllocManaged>()(&address, asked.bytes, CU_MEM_ATTACH_GLOBAL);
    const bool fits = !spills && policy::holds_all(state_of(device));
    const CUmemoryPool twin =
        twin_of(pool, device, fits ? TwinLocation::on_device : TwinLocation::where_touched);
    return twin != nullptr
               ? real<Entry::cuMemAllocFromPoolAsync>()(&address, asked.bytes, twin, asked.order->stream)
               : CUDA_ERROR_NOT_SUPPORTED;
}

void answer(trace::Alloc& record, CUresult result, trace::Reason reason) {
    record.status = static_cast<std::uint64_t>(result);
    record.origin = trace::Origin::umadvisor;
    record.reason = reason;
}

/// False: the driver's answer to the program's own call counts.
bool allocate_managed(const AllocationScope& asked) {
    CUmemoryPool pool = nullptr;
    const CUdevice device = device_to_rewrite_on(asked, pool);
    if (device < 0)
        return false;
    if (const Budget budget = budget_of(device); !reserve_rewritten(device, asked.bytes, budget)) {
        if (!budget_noted.test_and_set(std::memory_order_relaxed)) {
            announce("--act rewrite: no more than %llu MiB may be made managed (--budget); the program gets an "
                     "out-of-memory error",
                     static_cast<unsigned long long>(budget.bytes >> 20));
        }
        answer(asked.record, CUDA_ERROR_OUT_OF_MEMORY, trace::Reason::budget);
        return true;
    }
    note_others(device);
    CUdeviceptr address = 0;
    const CUresult made = make_managed(device, asked, pool, address);
    if (made != CUDA_SUCCESS) {
        remove_rewritten(device, asked.bytes);
        const bool has_no_twin = asked.order != nullptr && made == CUDA_ERROR_NOT_SUPPORTED;
        if (made != CUDA_ERROR_OUT_OF_MEMORY &&
            !has_no_twin) // the program's own call finds the lack of memory, too
            modes::rewrite.fail(made);
        return false;
    }
    ever_rewritten.store(true, std::memory_order_release);
    *asked.out = address;
    if (asked.pitch != nullptr)
        *asked.pitch = asked.row;
    asked.record.memory = trace::Memory::managed;
    answer(asked.record, CUDA_SUCCESS, spills ? trace::Reason::spill : trace::Reason::rewrite_all);
    return true;
}

/// Memory from a pool keeps the pool's location: the driver accepts no advice on it.
void unset_location(const observe::Allocation& allocation, CUdevice device) {
    observe::allocations().set_kept_on_device(allocation.address, false);
    if (!allocation.pooled)
        advise(allocation, CU_MEM_ADVISE_UNSET_PREFERRED_LOCATION, device);
}

/// Once not all fits the device, withdraws the preferred locations of what was rewritten there. `newest` has
/// none yet.
void unset_locations(CUdevice device, std::uint64_t newest) {
    if (!some_have_location[device].load(std::memory_order_relaxed) || policy::holds_all(state_of(device)) ||
        !some_have_location[device].exchange(false))
        return;
    const std::size_t capacity = observe::allocations().managed_count();
    auto* const all = static_cast<observe::Allocation*>(std::calloc(capacity + 1, sizeof(observe::Allocation)));
    if (all == nullptr)
        return;
    std::size_t count = 0;
    observe::allocations().for_each_managed([&](const observe::Allocation& allocation) {
        if (allocation.rewritten && allocation.id != newest &&
            allocation.device == static_cast<std::uint32_t>(device) && count < capacity)
            all[count++] = allocation;
    });
    const record::Quiet quiet;
    const observe::RelaxedCapture relaxed;
    for (std::size_t i = 0; i < count; ++i)
        unset_location(all[i], device);
    std::free(all);
    record::note("--act rewrite: allocations no longer fit the device's memory; preferred locations were "
                 "taken back");
}

bool prefer_and_prefetch(const observe::Allocation& allocation, CUdevice device) {
    // On the per-thread stream, which waits for no other stream of the program, unlike the legacy default
    // stream.
    if (observe::may_be_capturing(CU_STREAM_PER_THREAD))
        return false;
    CUresult answer = advise(allocation, CU_MEM_ADVISE_SET_PREFERRED_LOCATION, device);
    if (answer == CUDA_SUCCESS)
        answer = prefetch_range({allocation.id, allocation.address, allocation.bytes}, device,
                                CU_STREAM_PER_THREAD, trace::Reason::place_rewritten, record::stack());
    if (answer != CUDA_SUCCESS)
        locating.fail(answer);
    return answer == CUDA_SUCCESS;
}

/// Sets the preferred location and prefetches, while all rewritten memory fits the device. Memory from a pool
/// is at the pool's location already.
void set_location(const observe::Allocation& allocation) {
    const auto device = static_cast<CUdevice>(allocation.device);
    if (device < 0 || device >= policy::max_devices || spills || !locating.on.load(std::memory_order_acquire))
        return; // spilled memory did not fit the device, so it stays where it is touched
    if (!policy::holds_all(state_of(device)))
        return unset_locations(device, allocation.id);
    const record::Quiet quiet;
    const observe::RelaxedCapture relaxed;
    if (!allocation.pooled && !prefer_and_prefetch(allocation, device))
        return;
    some_have_location[device].store(true, std::memory_order_relaxed);
    if (!note_resident(allocation)) // with --act prefetch the residency map covers it
        observe::allocations().set_kept_on_device(allocation.address, true);
}

bool is_rewritten(std::uint64_t address, observe::Allocation& allocation) {
    return ever_rewritten.load(std::memory_order_acquire) && observe::allocations().find(address, allocation) &&
           allocation.rewritten;
}

/// The pitch that the driver would give the rows of cuMemAllocPitch. Asked before the card is full, since the
/// driver has to allocate for it.
void measure_rows(AllocationScope& asked) {
    const CUdevice device = observe::nothing_is_captured() ? current_device() : -1;
    asked.row = device >= 0 ? pitch_of(device, asked.width, asked.element) : 0;
    if (__builtin_mul_overflow(asked.row, asked.height, &asked.bytes))
        asked.bytes = 0;
}

bool instead_of_allocation(AllocationScope& asked) noexcept {
    if (asked.pitch != nullptr)
        measure_rows(asked);
    return asked.bytes >= least_bytes && (!spills || pretended_card_is_full(asked.bytes)) &&
           allocate_managed(asked);
}

bool instead_of_refusal(AllocationScope& asked) noexcept {
    return spills && allocate_managed(asked);
}

void on_allocation(const observe::Allocation& allocation, std::uint64_t) noexcept {
    if (allocation.rewritten)
        set_location(allocation);
    else if (allocation.fills_card && allocation.device < policy::max_devices)
        unset_locations(static_cast<CUdevice>(allocation.device), 0);
}

void on_free(const observe::Allocation& allocation) noexcept {
    if (allocation.rewritten && allocation.device < policy::max_devices)
        remove_rewritten(static_cast<CUdevice>(allocation.device), allocation.bytes);
}

/// Whether rewriting gains anything: not on hardware that accesses all memory, unless only spilled memory is
/// rewritten.
bool gains(const DeviceCount& devices) {
    if (!spills && devices.coherent != 0) {
        announce(
            "--act rewrite is refused: the device's hardware reaches all memory as it is; rewrite=spill works");
        return false;
    }
    if (devices.hmm != 0)
        announce(
            "--act rewrite lets a program take more than the device holds: with HMM that has hung machines "
            "(open-gpu-kernel-modules issue 1223); uvm_disable_hmm=1 of the module nvidia-uvm turns HMM off");
    return true;
}

bool start(const runtime::Options& options, const DeviceCount& devices) noexcept {
    const runtime::Asked& asked = options.asked(trace::ActMode::rewrite);
    spills = asked.word == "rewrite=spill";
    least_bytes = asked.size;
    asked_budget = options.budget_bytes;
    if (!gains(devices))
        return false;
    char why[200];
    if (!asked.twice && is_unsafe(why, sizeof why)) {
        constexpr const char* refusal =
            "--act rewrite is refused: %s; named twice in the list it is done all the same";
        announce(refusal, why);
        return false;
    }
    locating.on.store(true, std::memory_order_release);
    return true;
}

} // namespace

bool passes_for_device_memory(std::uint64_t address) noexcept {
    observe::Allocation allocation;
    return is_rewritten(address, allocation) && !is_called_by_transport();
}

void sharing_was_refused(std::uint64_t address) noexcept {
    observe::Allocation allocation;
    if (!is_rewritten(address, allocation) || !modes::rewrite.on.exchange(false))
        return;
    char line[256];
    std::snprintf(
        line, sizeof line,
        "--act rewrite is switched off: the program shares an allocation of %llu KiB with other processes "
        "(cuIpcGetMemHandle), and managed memory cannot be; run it without, or under the plan of this "
        "trace (umadvisor plan)",
        static_cast<unsigned long long>((allocation.bytes + 1023) / 1024));
    runtime::say("%s", line);
    record::note(record::About{.allocation = allocation.id}, "%s", line);
}

constinit Action modes::rewrite{
    .name = "rewrite",
    .only_from_start = "it counts the device memory that the program has",
    .start = &start,
    .instead_of_allocation = &instead_of_allocation,
    .instead_of_refusal = &instead_of_refusal,
    .on_allocation = &on_allocation,
    .on_free = &on_free,
};

} // namespace umadvisor::act
