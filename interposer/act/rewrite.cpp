#include "interposer/act/rewrite.hpp"

#include "interposer/act/devices.hpp"
#include "interposer/act/host_share.hpp"
#include "interposer/act/launcher_world.hpp"
#include "interposer/act/mode.hpp"
#include "interposer/act/pitch.hpp"
#include "interposer/act/placement.hpp"
#include "interposer/act/plan.hpp"
#include "interposer/act/pool_twins.hpp"
#include "interposer/act/prefetch.hpp"
#include "interposer/act/transports.hpp"
#include "interposer/attach/real.hpp"
#include "interposer/observe/capture.hpp"
#include "interposer/record/quiet.hpp"
#include "interposer/record/recorder.hpp"
#include "interposer/runtime/message.hpp"

#include <cstdio>
#include <cstdlib>

namespace umadvisor::act {

namespace {

using attach::Entry;
using attach::real;
using runtime::Rewriting;

constinit Mode rewrite{"rewrite"};
/// Apart: where it is not placed, rewritten memory is only slower, and the card still ends where it did.
constinit Mode placing{"rewrite's prefetch"};
constinit Rewriting kind = Rewriting::none; ///< this and the next two: written before the mode is on
constinit std::uint64_t least_bytes = 0;
constinit std::uint64_t asked_budget = 0;
constinit std::atomic<bool> ever_rewritten{false};
constinit std::atomic<bool> some_are_placed[policy::max_devices]; ///< on the device
constinit std::atomic_flag told_of_budget{}, told_of_capture{}, told_of_plan{};

bool is_on() {
    return rewrite.on.load(std::memory_order_acquire);
}

/// Why a process is left alone unless it is asked twice; empty: it is not. Into `text`.
bool is_unsafe(char* text, std::size_t capacity) {
    if (const World world = launcher_world(); world.size > 1)
        std::snprintf(text, capacity,
                      "%s says that this is one process of %llu, and memory that they share must stay "
                      "as it is",
                      world.variable, static_cast<unsigned long long>(world.size));
    else if (record::stack() == 0)
        std::snprintf(text, capacity,
                      "without call stacks nobody knows what NCCL, MPI, UCX or NVSHMEM allocate");
    else
        return false;
    return true;
}

Budget budget_of(CUdevice device) {
    if (asked_budget != 0)
        return {asked_budget, false};
    if (kind == Rewriting::spill)
        return {host_share(), true};
    return {policy::room_of(state_of(device)), false};
}

/// Whether the plan leaves the call that this thread is in to the driver.
bool is_left_by_plan() {
    if (!forbids_rewrites() || !never_rewrite(record::stack_key(record::stack())))
        return false;
    if (!told_of_plan.test_and_set(std::memory_order_relaxed))
        record::note("--act rewrite: what call sites of the plan allocate is left to the driver");
    return true;
}

/// The pool of another context's stream is another device's, perhaps.
bool is_of_current_context(CUstream stream) {
    CUcontext current = nullptr, of_stream = nullptr;
    return real<Entry::cuCtxGetCurrent>()(&current) == CUDA_SUCCESS &&
           real<Entry::cuStreamGetCtx>()(stream, &of_stream) == CUDA_SUCCESS && current == of_stream;
}

/// What is asked for, and how.
struct Wish {
    CUdeviceptr* out;
    std::size_t bytes;
    const StreamOrder* order;
    CUmemoryPool pool = nullptr; ///< of what is stream-ordered, once it is known to be rewritable
};

bool has_rewritable_pool(Wish& wish, CUdevice device) {
    if (is_of_current_context(wish.order->stream))
        wish.pool = rewritable_pool(wish.order->pool, device);
    return wish.pool != nullptr;
}

/// The device that it is to be rewritten on; -1: it is left to the driver, and `reason` is set where the plan
/// says so.
CUdevice device_to_rewrite_on(Wish& wish, trace::Reason& reason) {
    if (wish.out == nullptr || wish.bytes == 0)
        return -1;
    if (!observe::nothing_is_captured()) {
        if (!told_of_capture.test_and_set(std::memory_order_relaxed))
            record::note("--act rewrite: what is allocated while a stream captures is left to the driver");
        return -1;
    }
    const CUdevice device = current_device();
    if (device < 0 || is_called_by_transport() || (wish.order != nullptr && !has_rewritable_pool(wish, device)))
        return -1;
    if (is_left_by_plan()) {
        reason = trace::Reason::never_rewrite;
        return -1;
    }
    return device;
}

/// The driver's answer; CUDA_ERROR_NOT_SUPPORTED, too, where no managed pool stands in for the program's.
CUresult make_managed(CUdevice device, const Wish& wish, CUdeviceptr& address) {
    if (wish.order == nullptr)
        return real<Entry::cuMemAllocManaged>()(&address, wish.bytes, CU_MEM_ATTACH_GLOBAL);
    const bool fits = kind != Rewriting::spill && policy::holds_all(state_of(device));
    const CUmemoryPool twin = twin_of(wish.pool, device, fits ? TwinPlace::on_device : TwinPlace::anywhere);
    return twin != nullptr
               ? real<Entry::cuMemAllocFromPoolAsync>()(&address, wish.bytes, twin, wish.order->stream)
               : CUDA_ERROR_NOT_SUPPORTED;
}

/// False: the program's own call is to be made, or to be answered as it was.
bool allocate_managed(CUdevice device, const Wish& wish, RewriteAnswer& answer) {
    if (const Budget budget = budget_of(device); !reserve_rewritten(device, wish.bytes, budget)) {
        if (!told_of_budget.test_and_set(std::memory_order_relaxed)) {
            char line[200];
            std::snprintf(
                line, sizeof line,
                "--act rewrite: no more than %llu MiB may be made managed (--budget); the program is told "
                "that it is out of memory",
                static_cast<unsigned long long>(budget.bytes >> 20));
            runtime::say("%s", line);
            record::note("%s", line);
        }
        answer = {CUDA_ERROR_OUT_OF_MEMORY, trace::Reason::budget};
        return true;
    }
    note_others(device);
    CUdeviceptr address = 0;
    const CUresult made = make_managed(device, wish, address);
    if (made != CUDA_SUCCESS) {
        remove_rewritten(device, wish.bytes);
        const bool has_no_twin = wish.order != nullptr && made == CUDA_ERROR_NOT_SUPPORTED;
        if (made != CUDA_ERROR_OUT_OF_MEMORY && !has_no_twin) // of memory the program's own call is told, too
            rewrite.fail(made);
        return false;
    }
    ever_rewritten.store(true, std::memory_order_release);
    *wish.out = address;
    answer = {CUDA_SUCCESS, kind == Rewriting::spill ? trace::Reason::spill : trace::Reason::rewrite_all};
    return true;
}

/// What came from a pool keeps the location that the pool prefers: the driver takes no advice on it.
void unplace(const observe::Allocation& allocation, CUdevice device) {
    observe::allocations().set_placed(allocation.address, false);
    if (!allocation.pooled)
        advise(allocation, CU_MEM_ADVISE_UNSET_PREFERRED_LOCATION, device);
}

/// Where the device does not hold all, preferred locations of what was rewritten there are taken back. `newest`
/// has none yet.
void unplace_all(CUdevice device, std::uint64_t newest) {
    if (!some_are_placed[device].load(std::memory_order_relaxed) || policy::holds_all(state_of(device)) ||
        !some_are_placed[device].exchange(false))
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
        unplace(all[i], device);
    std::free(all);
    record::note("--act rewrite: allocations no longer fit the device's memory; preferred locations were "
                 "taken back");
}

bool bring_to_its_place(const observe::Allocation& allocation, CUdevice device) {
    // The thread's own stream: it waits for no other stream of the program, unlike the legacy default stream.
    if (observe::may_be_capturing(CU_STREAM_PER_THREAD))
        return false;
    CUresult answer = advise(allocation, CU_MEM_ADVISE_SET_PREFERRED_LOCATION, device);
    if (answer == CUDA_SUCCESS)
        answer = prefetch_range({allocation.id, allocation.address, allocation.bytes}, device,
                                CU_STREAM_PER_THREAD, trace::Reason::place_rewritten, record::stack());
    if (answer != CUDA_SUCCESS)
        placing.fail(answer);
    return answer == CUDA_SUCCESS;
}

bool is_rewritten(std::uint64_t address, observe::Allocation& allocation) {
    return ever_rewritten.load(std::memory_order_acquire) && observe::allocations().find(address, allocation) &&
           allocation.rewritten;
}

} // namespace

void start_rewriting(const runtime::Options& options) noexcept {
    char why[200];
    if (!options.rewrite_asked_twice && is_unsafe(why, sizeof why)) {
        constexpr const char* refusal =
            "--act rewrite is refused: %s; named twice in the list it is done all the same";
        runtime::say(refusal, why);
        record::note(refusal, why);
        return;
    }
    kind = options.act_rewrite;
    least_bytes = options.rewrite_least;
    asked_budget = options.budget_bytes;
    placing.on.store(true, std::memory_order_release);
    rewrite.on.store(true, std::memory_order_release);
}

bool rewrite_allocation(CUdeviceptr* out, std::size_t bytes, const StreamOrder* order,
                        RewriteAnswer& answer) noexcept {
    if (!is_on() || bytes < least_bytes)
        return false;
    if (kind == Rewriting::spill && !pretended_card_is_full(bytes))
        return false;
    Wish wish{out, bytes, order};
    const CUdevice device = device_to_rewrite_on(wish, answer.reason);
    return device >= 0 && allocate_managed(device, wish, answer);
}

bool spill_allocation(CUdeviceptr* out, std::size_t bytes, const StreamOrder* order,
                      RewriteAnswer& answer) noexcept {
    if (!is_on() || kind != Rewriting::spill)
        return false;
    Wish wish{out, bytes, order};
    const CUdevice device = device_to_rewrite_on(wish, answer.reason);
    return device >= 0 && allocate_managed(device, wish, answer);
}

std::size_t rewritten_pitch(std::size_t width, unsigned element) noexcept {
    if (!is_on() || !observe::nothing_is_captured())
        return 0;
    const CUdevice device = current_device();
    return device >= 0 ? pitch_of(device, width, element) : 0;
}

void place(const observe::Allocation& allocation) noexcept {
    const auto device = static_cast<CUdevice>(allocation.device);
    if (!allocation.rewritten || device < 0 || device >= policy::max_devices || kind == Rewriting::spill ||
        !placing.on.load(std::memory_order_acquire))
        return; // what was spilled found no room: it stays where it is touched
    if (!policy::holds_all(state_of(device)))
        return unplace_all(device, allocation.id);
    const record::Quiet quiet;
    const observe::RelaxedCapture relaxed;
    if (!allocation.pooled && !bring_to_its_place(allocation, device))
        return;
    some_are_placed[device].store(true, std::memory_order_relaxed);
    if (!note_resident(allocation)) // launches that reach it are like any others then
        observe::allocations().set_placed(allocation.address, true);
}

void give_way(std::uint32_t device) noexcept {
    if (device < policy::max_devices)
        unplace_all(static_cast<CUdevice>(device), 0);
}

void forget_rewritten(const observe::Allocation& allocation) noexcept {
    if (allocation.rewritten && allocation.device < policy::max_devices)
        remove_rewritten(static_cast<CUdevice>(allocation.device), allocation.bytes);
}

bool passes_for_device_memory(std::uint64_t address) noexcept {
    observe::Allocation allocation;
    return is_rewritten(address, allocation) && !is_called_by_transport();
}

void sharing_was_refused(std::uint64_t address) noexcept {
    observe::Allocation allocation;
    if (!is_rewritten(address, allocation) || !rewrite.on.exchange(false))
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

} // namespace umadvisor::act
