#include "interposer/act/pinned_blocks.hpp"

#include "interposer/act/host.hpp"
#include "interposer/act/in_context.hpp"
#include "interposer/act/touched_blocks.hpp"
#include "interposer/act/work_of_context.hpp"
#include "interposer/attach/real.hpp"
#include "interposer/base/hash.hpp"
#include "interposer/base/table.hpp"
#include "interposer/observe/allocations.hpp"
#include "interposer/observe/capture.hpp"
#include "interposer/observe/contexts.hpp"
#include "interposer/observe/host_nodes.hpp"
#include "interposer/record/mutex.hpp"
#include "interposer/record/quiet.hpp"
#include "interposer/record/recorder.hpp"
#include "policy/kept_blocks.hpp"

#include <atomic>
#include <cstring>

namespace umadvisor::act {

namespace {

using attach::Entry;
using attach::real;
using policy::BlockKind;
using policy::KeptBlock;
using Source = policy::KeptBlocks::Source;

/// The kind of a block that the program has.
struct InUse {
    std::uint64_t address; ///< 0: free; 1: gone
    BlockKind kind;

    bool free() const noexcept { return address == 0; }
    bool gone() const noexcept { return address == 1; }
    std::uint64_t hash() const noexcept { return base::hash(address); }
};

record::Mutex mutex{record::Lock::actions}; ///< guards the next three
constinit policy::KeptBlocks blocks;
constinit policy::KeptBudget budget;
constinit base::Table<InUse, base::Searched::under_the_lock> in_use;

constinit std::atomic<std::uint64_t> kept_bytes{0}; ///< as of `budget`, to be read without the lock

/// Locks, and shows the bytes that are kept when it unlocks.
class Change {
public:
    Change() noexcept : guard_(mutex) {}
    ~Change() { kept_bytes.store(budget.used, std::memory_order_relaxed); }
    Change(const Change&) = delete;
    Change& operator=(const Change&) = delete;

private:
    record::Guard guard_;
};

InUse* find(std::uint64_t address) {
    return in_use.find(base::hash(address), [&](const InUse& each) { return each.address == address; });
}

void note_in_use(std::uint64_t address, const BlockKind& kind) {
    InUse* slot = find(address); // a block that went with its context may have been there
    if (slot == nullptr)
        slot = in_use.add(base::hash(address));
    if (slot != nullptr)
        *slot = {address, kind};
}

CUcontext current_context() {
    CUcontext context = nullptr;
    return real<Entry::cuCtxGetCurrent>()(&context) == CUDA_SUCCESS ? context : nullptr;
}

void give_to_driver(const KeptBlock& block) {
    const observe::RelaxedCapture relaxed;
    const InContext inside(reinterpret_cast<CUcontext>(block.owner));
    if (!inside)
        return; // it is gone, and the block with it
    const CUresult answer = is_touched(block.address)
                                ? free_touched(block.address)
                                : real<Entry::cuMemFreeHost>()(reinterpret_cast<void*>(block.address));
    if (answer != CUDA_SUCCESS)
        modes::pinned.fail(answer);
}

/// Gives back the blocks that `next(block)` removes under the lock, one by one. Returns whether there were any.
template <class Next>
bool give_back(const Next& next) {
    for (bool any = false;; any = true) {
        KeptBlock block;
        {
            const Change change;
            if (!next(block))
                return any;
            budget.used -= block.kind.bytes;
        }
        give_to_driver(block);
    }
}

/// Asks the driver, unless threads of ours are faster.
CUresult make(const HostAllocationScope& asked) {
    if (make_touched(asked)) {
        asked.record.reason = trace::Reason::touched;
        return CUDA_SUCCESS;
    }
    const auto call = [&] {
        return asked.record.entry == attach::index(Entry::cuMemHostAlloc)
                   ? real<Entry::cuMemHostAlloc>()(asked.out, asked.bytes,
                                                   static_cast<unsigned>(asked.record.flags))
                   : real<Entry::cuMemAllocHost_v2>()(asked.out, asked.bytes);
    };
    const CUresult answer = call();
    return answer == CUDA_ERROR_OUT_OF_MEMORY && act::give_back() ? call() : answer;
}

bool knows(std::uint64_t entry) {
    return entry == attach::index(Entry::cuMemHostAlloc) || entry == attach::index(Entry::cuMemAllocHost_v2);
}

/// Memory that is handed out again is empty, as pages are that the kernel has just given to the driver: a
/// program may read it before it writes there.
void hand_out(const HostAllocationScope& asked, const KeptBlock& block) {
    void* const memory = reinterpret_cast<void*>(block.address);
    std::memset(memory, 0, block.kind.bytes);
    *asked.out = memory;
}

} // namespace

void set_pinned_budget() noexcept {
    const std::uint64_t eighth = host_share() / 4;
    const Change change;
    budget.limit = eighth;
}

bool allocate_pinned(HostAllocationScope& asked) noexcept {
    trace::Alloc& record = asked.record;
    if (asked.out == nullptr || asked.bytes == 0 || !knows(record.entry) || !observe::nothing_is_captured())
        return false;
    const record::Quiet quiet;
    const std::uint16_t context = observe::current_context_number();
    if (context == 0)
        return false;
    const BlockKind kind{.bytes = asked.bytes,
                         .place = observe::node_of_thread(),
                         .flags = static_cast<std::uint32_t>(record.flags),
                         .entry = static_cast<std::uint16_t>(record.entry),
                         .context = context};
    KeptBlock block;
    bool kept = false;
    {
        const Change change;
        kept = blocks.hand_out(kind, block) == Source::kept;
        if (kept)
            budget.used -= kind.bytes;
    }
    if (kept && error_of_work(context) != CUDA_SUCCESS) { // the driver is to say why
        give_to_driver(block);
        kept = false;
    }
    const std::uint64_t begun = record::now();
    CUresult answer = CUDA_SUCCESS;
    if (kept)
        hand_out(asked, block);
    else
        answer = make(asked);
    record.status = static_cast<std::uint64_t>(answer);
    if (answer != CUDA_SUCCESS)
        return true;
    const std::uint64_t ticks = record::now() - begun;
    bool given_up = false;
    {
        const Change change;
        note_in_use(reinterpret_cast<std::uint64_t>(*asked.out), kind);
        if (kept)
            given_up = blocks.handed_out(kind, ticks);
        else
            blocks.made(kind, ticks);
    }
    if (kept)
        record.reason = trace::Reason::reused_host;
    if (given_up)
        record::note(
            "--act pinned: pinned memory of %zu bytes is freed again, since the driver makes it faster",
            asked.bytes);
    return true;
}

bool keep_pinned(FreeingScope& freeing) noexcept {
    trace::Free& record = freeing.record;
    if (record.entry != attach::index(Entry::cuMemFreeHost))
        return false;
    const record::Quiet quiet;
    KeptBlock block;
    block.address = record.address;
    {
        const record::Guard guard(mutex);
        if (blocks.holds(block.address)) { // the program has freed it before
            record.status = CUDA_ERROR_INVALID_VALUE;
            return true;
        }
        InUse* const known = find(block.address);
        if (known == nullptr || freeing.allocation.memory != trace::Memory::pinned)
            return false;
        block.kind = known->kind;
        known->address = 1;
        if (!modes::pinned.is_on() || !blocks.wants(block.kind) || !budget.has_room(block.kind.bytes) ||
            block.kind.bytes != freeing.allocation.bytes)
            block.kind = {};
    }
    if (!modes::pinned.is_on())
        give_back_pinned();
    if (block.kind == BlockKind{})
        return false;
    const CUcontext context = current_context();
    if (!observe::nothing_is_captured() || context == nullptr ||
        observe::context_number(context) != block.kind.context || has_several_contexts() ||
        wait_as_free_does(block.kind.context) != CUDA_SUCCESS)
        return false;
    block.owner = reinterpret_cast<std::uint64_t>(context);
    {
        const Change change;
        if (!budget.has_room(block.kind.bytes) || !blocks.keep(block, record::run_nanoseconds()))
            return false;
        budget.used += block.kind.bytes;
    }
    record.status = CUDA_SUCCESS;
    record.reason = trace::Reason::kept_host;
    free_old_pinned();
    return true;
}

void free_old_pinned() noexcept {
    if (kept_pinned_bytes() == 0 || !observe::nothing_is_captured())
        return;
    const record::Quiet quiet;
    const std::uint16_t context = observe::current_context_number();
    const std::uint64_t now = record::run_nanoseconds();
    give_back([&](KeptBlock& old) { return blocks.remove_old(context, now, old); });
}

bool give_back_pinned() noexcept {
    if (kept_pinned_bytes() == 0 || !observe::nothing_is_captured())
        return false;
    const record::Quiet quiet;
    const bool any = give_back([](KeptBlock& each) { return blocks.remove_any(each); });
    const Change change;
    budget.limit /= 2;
    return any;
}

std::uint64_t kept_pinned_bytes() noexcept {
    return kept_bytes.load(std::memory_order_relaxed);
}

void forget_pinned(std::uint16_t context_number) noexcept {
    forget_work(context_number);
    const Change change;
    budget.used -= blocks.forget_context(context_number);
}

} // namespace umadvisor::act
