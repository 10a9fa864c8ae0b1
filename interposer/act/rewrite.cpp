#include "interposer/act/rewrite.hpp"

#include "interposer/act/devices.hpp"
#include "interposer/act/host_share.hpp"
#include "interposer/act/launcher_world.hpp"
#include "interposer/act/mode.hpp"
#include "interposer/act/pitch.hpp"
#include "interposer/act/placement.hpp"
#include "interposer/act/plan.hpp"
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
    return {room_of(state_of(device)), false};
}

/// Whether the plan leaves the call that this thread is in to the driver.
bool is_left_by_plan() {
    if (!forbids_rewrites() || !never_rewrite(record::stack_key(record::stack())))
        return false;
    if (!told_of_plan.test_and_set(std::memory_order_relaxed))
        record::note("--act rewrite: what call sites of the plan allocate is left to the driver");
    return true;
}

/// The device that `bytes` more are to be rewritten on; -1: they are left to the driver, and `reason` is set
/// where the plan says so.
CUdevice device_to_rewrite_on(const CUdeviceptr* out, std::size_t bytes, trace::Reason& reason) {
    if (out == nullptr || bytes == 0)
        return -1;
    if (!observe::nothing_is_captured()) {
        if (!told_of_capture.test_and_set(std::memory_order_relaxed))
            record::note("--act rewrite: what is allocated while a stream captures is left to the driver");
        return -1;
    }
    const CUdevice device = current_device();
    if (device < 0 || is_called_by_transport())
        return -1;
    if (is_left_by_plan()) {
        reason = trace::Reason::never_rewrite;
        return -1;
    }
    return device;
}

/// False: the program's own call is to be made, or to be answered as it was.
bool allocate_managed(CUdevice device, CUdeviceptr* out, std::size_t bytes, RewriteAnswer& answer) {
    if (const Budget budget = budget_of(device); !reserve_rewritten(device, bytes, budget)) {
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
    const CUresult made = real<Entry::cuMemAllocManaged>()(&address, bytes, CU_MEM_ATTACH_GLOBAL);
    if (made != CUDA_SUCCESS) {
        remove_rewritten(device, bytes);
        if (made != CUDA_ERROR_OUT_OF_MEMORY) // which the program's own call is told, too
            rewrite.fail(made);
        return false;
    }
    ever_rewritten.store(true, std::memory_order_release);
    *out = address;
    answer = {CUDA_SUCCESS, kind == Rewriting::spill ? trace::Reason::spill : trace::Reason::rewrite_all};
    return true;
}

void unplace(const observe::Allocation& allocation, CUdevice device) {
    observe::allocations().set_placed(allocation.address, false);
    advise(allocation, CU_MEM_ADVISE_UNSET_PREFERRED_LOCATION, device);
}

/// Preferred locations of the device's rewritten allocations are taken back: together they no longer fit.
void unplace_all(CUdevice device, const observe::Allocation& newest) {
    const std::size_t capacity = observe::allocations().managed_count();
    auto* const all = static_cast<observe::Allocation*>(std::calloc(capacity + 1, sizeof(observe::Allocation)));
    if (all == nullptr)
        return;
    std::size_t count = 0;
    observe::allocations().for_each_managed([&](const observe::Allocation& allocation) {
        if (allocation.rewritten && allocation.id != newest.id && allocation.device == newest.device &&
            count < capacity)
            all[count++] = allocation;
    });
    for (std::size_t i = 0; i < count; ++i)
        unplace(all[i], device);
    std::free(all);
    record::note("--act rewrite: allocations no longer fit the device's memory; preferred locations were "
                 "taken back");
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
    placing.on.store(true, std::memory_order_relaxed);
    rewrite.on.store(true, std::memory_order_release);
}

bool rewrite_allocation(CUdeviceptr* out, std::size_t bytes, RewriteAnswer& answer) noexcept {
    if (!is_on() || bytes < least_bytes)
        return false;
    if (kind == Rewriting::spill && !pretended_card_is_full(bytes))
        return false;
    const CUdevice device = device_to_rewrite_on(out, bytes, answer.reason);
    return device >= 0 && allocate_managed(device, out, bytes, answer);
}

bool spill_allocation(CUdeviceptr* out, std::size_t bytes, RewriteAnswer& answer) noexcept {
    if (!is_on() || kind != Rewriting::spill)
        return false;
    const CUdevice device = device_to_rewrite_on(out, bytes, answer.reason);
    return device >= 0 && allocate_managed(device, out, bytes, answer);
}

std::size_t rewritten_pitch(std::size_t width, unsigned element) noexcept {
    if (!is_on() || !observe::nothing_is_captured())
        return 0;
    const CUdevice device = current_device();
    return device >= 0 ? pitch_of(device, width, element) : 0;
}

void place(const observe::Allocation& allocation) noexcept {
    const auto device = static_cast<CUdevice>(allocation.device);
    if (!allocation.rewritten || device < 0 || device >= max_devices || kind == Rewriting::spill ||
        !placing.on.load(std::memory_order_relaxed))
        return; // what was spilled found no room: it stays where it is touched
    const Placement placement = decide_placement(allocation.bytes, state_of(device));
    const record::Quiet quiet;
    const observe::RelaxedCapture relaxed;
    if (placement.unplace_others)
        unplace_all(device, allocation);
    // The thread's own stream: it waits for no other stream of the program, unlike the legacy default stream.
    if (!placement.place || observe::may_be_capturing(CU_STREAM_PER_THREAD))
        return;
    CUresult answer = advise(allocation, CU_MEM_ADVISE_SET_PREFERRED_LOCATION, device);
    if (answer == CUDA_SUCCESS)
        answer = prefetch_range({allocation.id, allocation.address, allocation.bytes}, device,
                                CU_STREAM_PER_THREAD, trace::Reason::place_rewritten, record::stack());
    if (answer != CUDA_SUCCESS) {
        placing.fail(answer);
        return;
    }
    if (!note_resident(allocation)) // launches that reach it are like any others then
        observe::allocations().set_placed(allocation.address, true);
}

void forget_rewritten(const observe::Allocation& allocation) noexcept {
    if (allocation.rewritten && allocation.device < max_devices)
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
        "--act rewrite is switched off: the program shares allocation %llu with other processes "
        "(cuIpcGetMemHandle), and managed memory cannot be; run it without, or under the plan of this "
        "trace (umadvisor plan)",
        static_cast<unsigned long long>(allocation.id));
    runtime::say("%s", line);
    record::note("%s", line);
}

} // namespace umadvisor::act
