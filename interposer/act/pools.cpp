/// `--act pools`: a pool whose memory the driver takes back at each wait, and which asks for it again in the
/// next round, keeps it: its release threshold is raised (CUDA driver API, "Stream Ordered Memory Allocator").
///
/// Only pools of a device's memory that no other process can have: default pools, and those that the program
/// has made without a limit and without handles. A pool whose threshold the program sets is the program's.
#include "interposer/act/action.hpp"
#include "interposer/act/pool_calls.hpp"
#include "interposer/attach/real.hpp"
#include "interposer/observe/capture.hpp"
#include "interposer/record/mutex.hpp"
#include "interposer/record/quiet.hpp"
#include "interposer/record/recorder.hpp"
#include "policy/pool_threshold.hpp"
#include "policy/rewrite_policy.hpp"

#include <algorithm>
#include <iterator>
#include <time.h>

namespace umadvisor::act {

namespace {

using attach::Entry;
using attach::real;

struct Pool {
    CUmemoryPool handle = nullptr; ///< null: the entry is free
    CUdevice device = -1;
    bool left = false;   ///< alone, for ever
    bool in_use = false; ///< a thread makes a call of the driver on it, so it must not be destroyed
    policy::PoolThreshold threshold;
};

constexpr std::size_t most_pools = 64; ///< further ones are left to the driver

record::Mutex mutex{record::Lock::actions}; ///< guards what follows; not held during calls of the driver
constinit Pool pools[most_pools];
/// What each device allocates from, once it was asked for; null: not known.
constinit CUmemoryPool current[policy::max_devices] = {};
constinit unsigned halvings = 0; ///< of the budget
/// Whether a pool has to be looked at when memory is freed, or after the next wait.
constinit std::atomic<bool> to_look{false}, to_wait{false};

bool is_held(const Pool& pool) {
    return !pool.left && pool.threshold.kept() != 0;
}

/// Under the lock.
Pool* find(CUmemoryPool handle) {
    Pool* const found = std::find_if(std::begin(pools), std::end(pools),
                                     [&](const Pool& pool) { return pool.handle == handle; });
    return found != std::end(pools) ? found : nullptr;
}

/// `anew`: the pool that had the handle before is gone.
void add(CUmemoryPool handle, CUdevice device, bool left, bool anew) {
    const record::Guard guard(mutex);
    Pool* entry = find(handle);
    if (entry != nullptr && !anew)
        return;
    if (entry == nullptr)
        entry = find(nullptr);
    if (entry == nullptr || entry->in_use)
        return;
    *entry = {};
    entry->handle = handle;
    entry->device = device;
    entry->left = left;
}

CUmemoryPool current_pool(CUdevice device) {
    {
        const record::Guard guard(mutex);
        if (current[device] != nullptr)
            return current[device];
    }
    CUmemoryPool pool = nullptr;
    if (real<Entry::cuDeviceGetMemPool>()(&pool, device) != CUDA_SUCCESS)
        return nullptr;
    const record::Guard guard(mutex);
    return current[device] = pool;
}

/// Of a pool that was not seen when it was made. One that the program has set is left alone, and so is one that
/// is not the device's own.
bool must_be_left(CUmemoryPool pool, CUdevice device) {
    CUmemoryPool by_default = nullptr;
    cuuint64_t threshold = 0;
    return real<Entry::cuDeviceGetDefaultMemPool>()(&by_default, device) != CUDA_SUCCESS ||
           pool != by_default ||
           real<Entry::cuMemPoolGetAttribute>()(pool, CU_MEMPOOL_ATTR_RELEASE_THRESHOLD, &threshold) !=
               CUDA_SUCCESS ||
           threshold != programs_own;
}

/// Calls `act(pool, copy)` without the lock for each pool that `chosen(pool)` chooses under it, and
/// `keep(pool, result)` under it with what that returned. A pool that another thread uses is left out.
template <class Chosen, class Act, class Keep>
void for_each(Chosen chosen, Act act, Keep keep) {
    for (Pool& pool : pools) {
        CUmemoryPool handle = nullptr;
        CUdevice device = -1;
        {
            const record::Guard guard(mutex);
            if (pool.handle == nullptr || pool.in_use || !chosen(pool))
                continue;
            pool.in_use = true;
            handle = pool.handle;
            device = pool.device;
        }
        const auto result = act(handle, device);
        const record::Guard guard(mutex);
        pool.in_use = false;
        keep(pool, result);
    }
}

struct Answer {
    bool known = false;
    std::uint64_t bytes = 0;
};

Answer reserved_by(CUmemoryPool pool, CUdevice) {
    Answer answer;
    answer.known = ask_pool(pool, CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT, answer.bytes);
    return answer;
}

std::uint64_t kept_by_all(CUdevice device) {
    const record::Guard guard(mutex);
    std::uint64_t sum = 0;
    for (const Pool& pool : pools)
        if (pool.handle != nullptr && pool.device == device)
            sum += pool.threshold.kept();
    return sum;
}

/// The pool is to keep `wanted` bytes. Returns how many it does; 0: none but those before.
std::uint64_t raise(CUmemoryPool pool, CUdevice device, std::uint64_t wanted, std::uint64_t kept) {
    const std::uint64_t all = kept_by_all(device), free = free_memory_on(device);
    unsigned times = 0;
    {
        const record::Guard guard(mutex);
        times = halvings;
    }
    const std::uint64_t share = policy::pool_share(wanted, kept, all, free, times);
    if (share == 0)
        return 0;
    const CUresult answer = set_threshold(pool, share, trace::Reason::pool_refills);
    if (answer != CUDA_SUCCESS)
        modes::pools.fail(answer);
    return answer == CUDA_SUCCESS ? share : 0;
}

/// Keeping does not pay: the pool has the program's own threshold from now on.
void give_up(CUmemoryPool handle) {
    for_each([&](const Pool& pool) { return pool.handle == handle && is_held(pool); },
             [](CUmemoryPool pool, CUdevice) {
                 return set_threshold(pool, programs_own, trace::Reason::pool_refills);
             },
             [](Pool& pool, CUresult) {
                 pool.left = true;
                 record::note("--act pools: a pool gives its memory back at waits again, since allocations "
                              "became no faster");
             });
}

void on_pool_allocation(const trace::Alloc& allocation) noexcept {
    const auto device = static_cast<CUdevice>(allocation.device);
    if (allocation.memory != trace::Memory::device || allocation.origin != trace::Origin::program ||
        device >= policy::max_devices)
        return;
    const record::Quiet quiet;
    auto* handle = reinterpret_cast<CUmemoryPool>(allocation.pool);
    if (handle == nullptr)
        handle = current_pool(device);
    if (handle == nullptr)
        return;
    bool known = false, loses = false;
    {
        const record::Guard guard(mutex);
        if (Pool* const pool = find(handle)) {
            known = true;
            if (!pool->left) {
                pool->threshold.allocated(allocation.duration);
                loses = pool->threshold.loses();
                if (pool->threshold.wants_look())
                    to_look.store(true, std::memory_order_relaxed);
            }
        }
    }
    if (loses && observe::nothing_is_captured())
        give_up(handle);
    if (!known && observe::nothing_is_captured())
        add(handle, device, must_be_left(handle, device), false);
}

/// Memory is freed before a wait, at which the driver takes it back.
void on_free(const observe::Allocation&) noexcept {
    if (!to_look.load(std::memory_order_relaxed) || !modes::pools.is_on() || !observe::nothing_is_captured())
        return;
    const record::Quiet quiet;
    to_look.store(false, std::memory_order_relaxed);
    for_each([](const Pool& pool) { return !pool.left && pool.threshold.wants_look(); }, &reserved_by,
             [](Pool& pool, const Answer& answer) {
                 if (!answer.known)
                     return;
                 pool.threshold.reserved(answer.bytes);
                 to_wait.store(true, std::memory_order_relaxed);
             });
}

void after_wait(const Wait&) noexcept {
    if (!to_wait.load(std::memory_order_relaxed) || !observe::nothing_is_captured())
        return;
    const record::Quiet quiet;
    to_wait.store(false, std::memory_order_relaxed);
    CUmemoryPool wanting = nullptr; // one of them; others want the same after the next wait
    std::uint64_t wanted = 0, kept = 0;
    for_each([](const Pool& pool) { return !pool.left && pool.threshold.wants_wait(); }, &reserved_by,
             [&](Pool& pool, const Answer& answer) {
                 const std::uint64_t bytes = answer.known ? pool.threshold.after_wait(answer.bytes) : 0;
                 if (bytes != 0) {
                     wanting = pool.handle;
                     wanted = bytes;
                     kept = pool.threshold.kept();
                 }
                 if (pool.threshold.wants_wait())
                     to_wait.store(true, std::memory_order_relaxed);
             });
    if (wanting == nullptr)
        return;
    for_each([&](const Pool& pool) { return !pool.left && pool.handle == wanting; },
             [&](CUmemoryPool pool, CUdevice device) { return raise(pool, device, wanted, kept); },
             [](Pool& pool, std::uint64_t bytes) {
                 if (bytes != 0)
                     pool.threshold.raised(bytes);
                 else
                     pool.threshold.refused();
             });
}

/// Waits for a call of ours on the pool. It is a short one, in which the driver waits for nothing.
void before_pool_change(CUmemoryPool handle) noexcept {
    constexpr timespec short_pause{0, 1'000};
    for (const record::Quiet quiet;;) {
        {
            const record::Guard guard(mutex);
            Pool* const pool = handle != nullptr ? find(handle) : nullptr;
            if (pool == nullptr)
                return;
            pool->left = true;
            if (!pool->in_use)
                return;
        }
        clock_nanosleep(CLOCK_MONOTONIC, 0, &short_pause, nullptr);
    }
}

bool is_plain(const trace::Pool& made) {
    return made.memory == trace::Memory::device && made.location == trace::Location::device &&
           made.attribute == CU_MEM_HANDLE_TYPE_NONE && made.value == 0;
}

void on_pool(const trace::Pool& record) noexcept {
    if (record.status != CUDA_SUCCESS || record.origin != trace::Origin::program)
        return;
    auto* const handle = reinterpret_cast<CUmemoryPool>(record.pool);
    switch (record.action) {
    case trace::PoolAction::create:
        return add(handle, static_cast<CUdevice>(record.location_id), !is_plain(record), true);
    case trace::PoolAction::import_pool:
        return add(handle, -1, true, true);
    case trace::PoolAction::set: {
        const record::Guard guard(mutex);
        std::fill(std::begin(current), std::end(current), nullptr);
        return;
    }
    case trace::PoolAction::set_attribute:
        if (record.attribute == CU_MEMPOOL_ATTR_RELEASE_THRESHOLD) // it is the program's own now
            add(handle, -1, true, true);
        return;
    case trace::PoolAction::destroy: { // a device allocates from its default pool again
        const record::Guard guard(mutex);
        std::fill(std::begin(current), std::end(current), nullptr);
        if (Pool* const pool = find(handle); pool != nullptr && !pool->in_use)
            *pool = {};
        return;
    }
    default:
        return;
    }
}

void show_threshold(CUmemoryPool handle, cuuint64_t& bytes) noexcept {
    const record::Guard guard(mutex);
    if (const Pool* const pool = find(handle); pool != nullptr && pool->threshold.kept() != 0)
        bytes = programs_own;
}

/// A default pool lives on, as the program has set it.
void before_reset(CUdevice device) noexcept {
    const record::Quiet quiet;
    for_each([&](const Pool& pool) { return is_held(pool) && pool.device == device; },
             [](CUmemoryPool pool, CUdevice) {
                 return set_threshold(pool, programs_own, trace::Reason::pool_refills);
             },
             [](Pool&, CUresult) {});
    const record::Guard guard(mutex);
    std::fill(std::begin(current), std::end(current), nullptr);
    for (Pool& pool : pools)
        if (pool.device == device && !pool.in_use)
            pool = {};
}

bool empty_all() noexcept {
    if (!observe::nothing_is_captured())
        return false;
    const record::Quiet quiet;
    bool any = false;
    for_each(
        &is_held, [](CUmemoryPool pool, CUdevice) { return empty_pool(pool); },
        [&](Pool& pool, bool gave) {
            any |= gave;
            pool.threshold.gave_back();
        });
    if (any) {
        const record::Guard guard(mutex);
        ++halvings;
    }
    return any;
}

void add_kept(CUdevice device, Kept& kept) noexcept {
    const record::Quiet quiet;
    for_each(
        [&](const Pool& pool) { return is_held(pool) && (device < 0 || pool.device == device); },
        [](CUmemoryPool pool, CUdevice) {
            std::uint64_t reserved = 0, used = 0;
            const bool known = ask_pool(pool, CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT, reserved) &&
                               ask_pool(pool, CU_MEMPOOL_ATTR_USED_MEM_CURRENT, used);
            return known ? reserved - std::min(reserved, used) : std::uint64_t{0};
        },
        [&](Pool& pool, std::uint64_t bytes) { kept.device_bytes += std::min(bytes, pool.threshold.kept()); });
}

} // namespace

constinit Action modes::pools{
    .name = "pools",
    .after_wait = &after_wait,
    .on_pool_allocation = &on_pool_allocation,
    .before_pool_change = &before_pool_change,
    .on_pool = &on_pool,
    .show_threshold = &show_threshold,
    .before_reset = &before_reset,
    .give_back = &empty_all,
    .add_kept = &add_kept,
    .on_free = &on_free,
};

} // namespace umadvisor::act
