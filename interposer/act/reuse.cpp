/// `--act reuse`: device memory that the program frees is kept for its next request of the same size.
#include "interposer/act/action.hpp"
#include "interposer/act/host.hpp"
#include "interposer/act/in_context.hpp"
#include "interposer/act/work_of_context.hpp"
#include "interposer/observe/capture.hpp"
#include "interposer/observe/contexts.hpp"
#include "interposer/record/mutex.hpp"
#include "interposer/record/quiet.hpp"
#include "interposer/record/recorder.hpp"
#include "policy/kept_blocks.hpp"

#include <algorithm>
#include <iterator>

namespace umadvisor::act {

namespace {

using attach::Entry;
using attach::real;
using policy::BlockKind;
using policy::KeptBlock;
using Source = policy::KeptBlocks::Source;

/// Of the memory that is free when a context's first block is kept, one part in so many may be kept.
constexpr std::uint64_t share_of_free = 4;

/// The driver gives memory in units of so many bytes, at least.
constexpr std::uint64_t unit = 512;

std::uint64_t in_units(std::uint64_t bytes) {
    return (bytes + unit - 1) / unit * unit;
}

/// A context of which memory is kept.
struct Keeper {
    CUcontext context = nullptr; ///< null: the entry is unused
    std::uint16_t number = 0;    ///< of the context (observe/contexts.hpp)
    CUdevice device = -1;
    policy::KeptBudget budget{}; ///< used in whole units of the driver
};

record::Mutex mutex{record::Lock::actions}; ///< guards what follows
constinit policy::KeptBlocks blocks;
constinit Keeper keepers[16];
constinit std::uint64_t shared[64]; ///< addresses of memory that other processes may use
constinit std::size_t shared_count = 0;
constinit std::uint64_t least_wait = 0; ///< ticks to keep a block when there is no work
constinit std::atomic_flag refusal_noted{};

Keeper* keeper_of(std::uint16_t number) {
    const auto found = std::ranges::find_if(
        keepers, [&](const Keeper& each) { return each.context != nullptr && each.number == number; });
    return found != std::end(keepers) ? found : nullptr;
}

/// Enters the current context. False: it is another one, or there are too many.
bool enter_current(std::uint16_t number) {
    Keeper made{.number = number};
    std::size_t free = 0, total = 0;
    if (observe::current_context_number() != number ||
        real<Entry::cuCtxGetCurrent>()(&made.context) != CUDA_SUCCESS || made.context == nullptr ||
        real<Entry::cuCtxGetDevice>()(&made.device) != CUDA_SUCCESS ||
        real<Entry::cuMemGetInfo_v2>()(&free, &total) != CUDA_SUCCESS)
        return false;
    made.budget.limit = free / share_of_free;
    const record::Guard guard(mutex);
    const auto unused = std::ranges::find(keepers, nullptr, &Keeper::context);
    if (keeper_of(number) != nullptr)
        return true;
    if (unused == std::end(keepers))
        return false;
    *unused = made;
    return true;
}

bool has_room(std::uint16_t context, std::uint64_t bytes) {
    const Keeper* const keeper = keeper_of(context);
    return keeper != nullptr && keeper->budget.has_room(bytes);
}

bool keep(const KeptBlock& block) {
    const record::Guard guard(mutex);
    if (!has_room(block.kind.context, block.kind.bytes) || !blocks.keep(block, record::run_nanoseconds()))
        return false;
    keeper_of(block.kind.context)->budget.used += in_units(block.kind.bytes);
    return true;
}

/// Whether other processes may use the memory; it is forgotten.
bool was_shared(std::uint64_t address) {
    const auto end = std::begin(shared) + shared_count;
    const auto found = std::find(std::begin(shared), end, address);
    if (found == end)
        return false;
    *found = shared[--shared_count];
    return true;
}

/// The block is kept no longer. With the lock held.
void has_left(KeptBlock& block) {
    Keeper& keeper = *keeper_of(block.kind.context);
    keeper.budget.used -= in_units(block.kind.bytes);
    block.owner = reinterpret_cast<std::uint64_t>(keeper.context);
}

/// Gives a block to the driver that is no longer kept. Returns whether the driver has it.
bool free_block(const KeptBlock& block) {
    const observe::RelaxedCapture relaxed;
    const InContext inside(reinterpret_cast<CUcontext>(block.owner));
    return inside && real<Entry::cuMemFree_v2>()(block.address) == CUDA_SUCCESS;
}

/// Gives back the blocks that `next(block)` removes under the lock, up to `most` of them. Returns whether the
/// driver has any.
template <class Next>
bool free_blocks(std::size_t most, const Next& next) {
    const record::Quiet quiet;
    bool any = false;
    for (std::size_t i = 0; i < most; ++i) {
        KeptBlock block;
        {
            const record::Guard guard(mutex);
            if (!next(block))
                break;
            has_left(block);
        }
        any |= free_block(block);
    }
    return any;
}

bool free_all() {
    return free_blocks(policy::KeptBlocks::most_blocks, [](KeptBlock& any) { return blocks.remove_any(any); });
}

void free_old() {
    free_blocks(1,
                [now = record::run_nanoseconds()](KeptBlock& old) { return blocks.remove_old(0, now, old); });
}

bool give_back_blocks() noexcept {
    if (!free_all())
        return false;
    if (!refusal_noted.test_and_set(std::memory_order_relaxed))
        record::note(
            "--act reuse: the driver had no memory; what was kept has been given back, and half as much is "
            "kept from now on");
    const record::Guard guard(mutex);
    for (Keeper& each : keepers)
        each.budget.limit /= 2;
    return true;
}

/// The driver makes a block, and its time is noted. Returns whether it did.
bool make_compared(AllocationScope& asked, const BlockKind& kind) {
    const std::uint64_t begun = record::now();
    const CUresult answer = real<Entry::cuMemAlloc_v2>()(asked.out, kind.bytes);
    const std::uint64_t ticks = record::now() - begun;
    if (answer != CUDA_SUCCESS)
        return false;
    asked.record.status = CUDA_SUCCESS;
    const record::Guard guard(mutex);
    blocks.made(kind, 2 * ticks); // its free takes about as long again
    return true;
}

bool instead_of_allocation(AllocationScope& asked) noexcept {
    if (asked.order != nullptr || asked.pitch != nullptr || asked.bytes == 0 || asked.out == nullptr ||
        !observe::nothing_is_captured())
        return false;
    const BlockKind kind{.bytes = asked.bytes, .context = observe::current_context_number()};
    const std::uint64_t begun = record::now();
    KeptBlock block;
    Source source;
    {
        const record::Guard guard(mutex);
        source = blocks.hand_out(kind, block);
        if (source == Source::kept)
            has_left(block);
    }
    if (source == Source::compared)
        return make_compared(asked, kind);
    if (source == Source::driver) {
        free_old();
        return false;
    }
    if (error_of_work(kind.context) != CUDA_SUCCESS) { // the driver is to say why
        keep(block);
        return false;
    }
    *asked.out = block.address;
    asked.record.status = CUDA_SUCCESS;
    asked.record.reason = trace::Reason::reused_device;
    const std::uint64_t ticks = record::now() - begun;
    bool refused = false;
    {
        const record::Guard guard(mutex);
        refused = blocks.handed_out(kind, ticks + least_wait);
    }
    if (refused)
        record::note("--act reuse: device memory of %zu bytes is freed again, since the driver makes it faster",
                     asked.bytes);
    return true;
}

/// Whether the memory is what cuMemAlloc gives, without properties that its next owner would get with it.
bool is_plain(CUdeviceptr address) {
    CUmemoryPool pool = nullptr;
    unsigned synchronous = 0;
    CUpointer_attribute asked[] = {CU_POINTER_ATTRIBUTE_MEMPOOL_HANDLE, CU_POINTER_ATTRIBUTE_SYNC_MEMOPS};
    void* answers[] = {&pool, &synchronous};
    return real<Entry::cuPointerGetAttributes>()(2, asked, answers, address) == CUDA_SUCCESS &&
           pool == nullptr && synchronous == 0;
}

/// Memory that is kept was freed. Returns whether the driver is not to be asked.
bool refuse_second_free(trace::Free& record) {
    const record::Guard guard(mutex);
    if (!blocks.holds(record.address))
        return false;
    record.status = CUDA_ERROR_INVALID_VALUE;
    return true;
}

/// Waits as the driver's free does. Returns whether all went well.
bool wait_for_work(std::uint16_t context) {
    const std::uint64_t begun = record::now();
    if (wait_as_free_does(context) != CUDA_SUCCESS)
        return false;
    const std::uint64_t ticks = record::now() - begun;
    const record::Guard guard(mutex);
    least_wait = least_wait == 0 ? ticks : std::min(least_wait, ticks);
    return true;
}

/// The driver's wait stays: cuMemFree returns when the context's work is done. An error of that work is left to
/// the driver to report.
bool instead_of_free(FreeingScope& freeing) noexcept {
    const observe::Allocation& memory = freeing.allocation;
    if (freeing.record.entry != attach::index(Entry::cuMemFree_v2)) // any other refuses device memory
        return false;
    if (memory.id == 0)
        return refuse_second_free(freeing.record);
    if (memory.memory != trace::Memory::device || !memory.fills_card || memory.rewritten ||
        !observe::nothing_is_captured())
        return false;
    if (!modes::reuse.is_on()) {
        free_all();
        return false;
    }
    const BlockKind kind{.bytes = memory.bytes, .context = memory.context};
    bool known = false;
    {
        const record::Guard guard(mutex);
        if (was_shared(memory.address) || !blocks.wants(kind))
            return false;
        known = keeper_of(kind.context) != nullptr;
        if (known && !has_room(kind.context, kind.bytes))
            return false;
    }
    const record::Quiet quiet;
    if ((!known && !enter_current(kind.context)) || observe::current_context_number() != kind.context ||
        !is_plain(memory.address) || !wait_for_work(kind.context) || !keep({kind, memory.address}))
        return false;
    freeing.record.status = CUDA_SUCCESS;
    freeing.record.reason = trace::Reason::kept_device;
    return true;
}

void add_kept(CUdevice device, Kept& kept) noexcept {
    const record::Guard guard(mutex);
    for (const Keeper& each : keepers)
        if (device < 0 || each.device == device)
            kept.device_bytes += each.budget.used;
}

/// With peer access, other contexts use all memory of the device, and cuMemFree does not wait for them.
void on_share(std::uint64_t address) noexcept {
    const record::Guard guard(mutex);
    if (address != 0 && shared_count < std::size(shared))
        shared[shared_count++] = address;
    else if (modes::reuse.on.exchange(false))
        record::note("--act reuse: switched off, since the program shares device memory with other devices or "
                     "processes");
}

void on_context_end(std::uint16_t number) noexcept {
    forget_work(number);
    const record::Guard guard(mutex);
    blocks.forget_context(number);
    if (Keeper* const keeper = keeper_of(number))
        *keeper = {};
}

/// Processes that a launcher has started together move memory by libraries that the shim does not see.
bool start(const runtime::Options&, const DeviceCount&) noexcept {
    const World world = launcher_world();
    if (world.size > 1)
        record::note("--act reuse is refused: %s says that this is one process of %llu, which may share device "
                     "memory",
                     world.variable, static_cast<unsigned long long>(world.size));
    return world.size <= 1;
}

} // namespace

constinit Action modes::reuse{
    .name = "reuse",
    .start = &start,
    .instead_of_allocation = &instead_of_allocation,
    .instead_of_free = &instead_of_free,
    .give_back = &give_back_blocks,
    .add_kept = &add_kept,
    .on_share = &on_share,
    .on_context_end = &on_context_end,
};

} // namespace umadvisor::act
