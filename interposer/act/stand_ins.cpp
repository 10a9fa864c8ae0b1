#include "interposer/act/stand_ins.hpp"

#include "interposer/attach/real.hpp"
#include "interposer/record/mutex.hpp"
#include "interposer/record/recorder.hpp"

#include <algorithm>
#include <atomic>
#include <iterator>
#include <utility>

namespace umadvisor::act {

namespace {

using attach::Entry;
using attach::real;

constexpr std::size_t max_pools = 64; ///< further ones are left to the driver

record::Mutex mutex{record::Lock::actions};
constinit PoolTwins pools[max_pools];
/// Pools are looked up at each stream-ordered allocation. A program without twins pays one load for it.
constinit std::atomic<bool> any_twins{false};
constinit std::atomic<bool> no_managed_pools{false};

/// Under the lock. Null if it is not known.
PoolTwins* find(CUmemoryPool original) {
    PoolTwins* const found = std::find_if(std::begin(pools), std::end(pools),
                                          [&](const PoolTwins& pool) { return pool.original == original; });
    return found != std::end(pools) ? found : nullptr;
}

void add(CUmemoryPool pool, CUdevice device) {
    const record::Guard guard(mutex);
    if (find(pool) != nullptr)
        return;
    if (PoolTwins* const free = find(nullptr))
        *free = {pool, device, {}};
}

CUmemoryPool pool_or_current(CUmemoryPool pool, CUdevice device) {
    if (pool != nullptr)
        return pool;
    return real<Entry::cuDeviceGetMemPool>()(&pool, device) == CUDA_SUCCESS ? pool : nullptr;
}

bool is_default(CUmemoryPool pool, CUdevice device) {
    CUmemoryPool by_default = nullptr;
    return real<Entry::cuDeviceGetDefaultMemPool>()(&by_default, device) == CUDA_SUCCESS && pool == by_default;
}

CUmemoryPool known_twin(CUmemoryPool pool, TwinLocation location) {
    const record::Guard guard(mutex);
    const PoolTwins* const known = find(pool);
    return known != nullptr ? known->twins[static_cast<std::size_t>(location)] : nullptr;
}

/// Returns the twin that is entered then: another thread may have entered one before. Null if the pool was
/// destroyed.
CUmemoryPool enter_twin(CUmemoryPool pool, TwinLocation location, CUmemoryPool made) {
    const record::Guard guard(mutex);
    PoolTwins* const known = find(pool);
    if (known == nullptr)
        return nullptr;
    CUmemoryPool& twin = known->twins[static_cast<std::size_t>(location)];
    if (twin == nullptr)
        twin = made;
    any_twins.store(true, std::memory_order_release);
    return twin;
}

/// Copies the attributes that say how a pool reuses and keeps memory.
void copy_attributes(CUmemoryPool from, CUmemoryPool to) {
    for (const CUmemPool_attribute which :
         {CU_MEMPOOL_ATTR_REUSE_FOLLOW_EVENT_DEPENDENCIES, CU_MEMPOOL_ATTR_REUSE_ALLOW_OPPORTUNISTIC,
          CU_MEMPOOL_ATTR_REUSE_ALLOW_INTERNAL_DEPENDENCIES, CU_MEMPOOL_ATTR_RELEASE_THRESHOLD}) {
        cuuint64_t value = 0; // holds an int as well
        if (real<Entry::cuMemPoolGetAttribute>()(from, which, &value) == CUDA_SUCCESS)
            real<Entry::cuMemPoolSetAttribute>()(to, which, &value);
    }
}

CUmemoryPool make_twin(CUmemoryPool original, CUdevice device, TwinLocation location) {
    CUmemPoolProps properties{};
    properties.allocType = CU_MEM_ALLOCATION_TYPE_MANAGED;
    properties.location.type =
        location == TwinLocation::on_device ? CU_MEM_LOCATION_TYPE_DEVICE : CU_MEM_LOCATION_TYPE_NONE;
    properties.location.id = location == TwinLocation::on_device ? device : 0;
    CUmemoryPool made = nullptr;
    const CUresult answer = real<Entry::cuMemPoolCreate>()(&made, &properties);
    if (answer == CUDA_SUCCESS) {
        copy_attributes(original, made);
        return made;
    }
    if (!no_managed_pools.exchange(true))
        record::note("--act rewrite: the driver makes no managed pool (CUresult %d; they came with CUDA 13.0): "
                     "stream-ordered allocations are left to it",
                     static_cast<int>(answer));
    return nullptr;
}

/// Calls `act(twin)` for each twin of `pool`, without the lock, since the driver may lock in the call.
template <class Act>
void for_each_twin(CUmemoryPool pool, Act act) {
    if (!any_twins.load(std::memory_order_acquire))
        return;
    CUmemoryPool twins[PoolTwins::locations] = {};
    {
        const record::Guard guard(mutex);
        if (const PoolTwins* const known = find(pool))
            std::copy(std::begin(known->twins), std::end(known->twins), twins);
    }
    for (const CUmemoryPool twin : twins)
        if (twin != nullptr)
            act(twin);
}

} // namespace

void note_pool_made(CUmemoryPool pool, const CUmemPoolProps& properties) noexcept {
    forget_pool_twins(pool); // a new pool may have the handle of one before a reset
    if (properties.allocType == CU_MEM_ALLOCATION_TYPE_PINNED &&
        properties.location.type == CU_MEM_LOCATION_TYPE_DEVICE &&
        properties.handleTypes == CU_MEM_HANDLE_TYPE_NONE && properties.maxSize == 0 && properties.usage == 0)
        add(pool, properties.location.id);
}

PoolTwins remove_twins(CUmemoryPool pool) noexcept {
    const record::Guard guard(mutex);
    PoolTwins* const known = pool != nullptr ? find(pool) : nullptr;
    return known != nullptr ? std::exchange(*known, {}) : PoolTwins{};
}

void destroy_twins(const PoolTwins& removed) noexcept {
    // Memory allocated from them lives until it is freed, as with the program's own pools.
    for (const CUmemoryPool twin : removed.twins)
        if (twin != nullptr)
            real<Entry::cuMemPoolDestroy>()(twin);
}

void restore_twins(const PoolTwins& removed) noexcept {
    if (removed.original == nullptr)
        return;
    const record::Guard guard(mutex);
    if (PoolTwins* const free = find(nullptr))
        *free = removed;
}

void forget_pool_twins(CUmemoryPool pool) noexcept {
    destroy_twins(remove_twins(pool));
}

void forget_device_twins(CUdevice device) noexcept {
    if (!any_twins.load(std::memory_order_acquire))
        return;
    for (PoolTwins& known : pools) {
        CUmemoryPool original = nullptr;
        {
            const record::Guard guard(mutex);
            original = known.device == device ? known.original : nullptr;
        }
        if (original != nullptr)
            forget_pool_twins(original);
    }
}

/// Default pools are entered here, the program's own when they were made.
CUmemoryPool rewritable_pool(CUmemoryPool pool, CUdevice device) noexcept {
    pool = pool_or_current(pool, device);
    if (pool == nullptr || no_managed_pools.load(std::memory_order_relaxed))
        return nullptr;
    {
        const record::Guard guard(mutex);
        if (const PoolTwins* const known = find(pool))
            return known->device == device ? pool : nullptr;
    }
    if (!is_default(pool, device))
        return nullptr;
    add(pool, device);
    return pool;
}

CUmemoryPool twin_of(CUmemoryPool pool, CUdevice device, TwinLocation location) noexcept {
    if (const CUmemoryPool twin = known_twin(pool, location))
        return twin;
    const CUmemoryPool made = make_twin(pool, device, location);
    if (made == nullptr)
        return nullptr;
    const CUmemoryPool twin = enter_twin(pool, location, made);
    if (twin != made)
        real<Entry::cuMemPoolDestroy>()(made);
    return twin;
}

CUmemoryPool original_of(CUmemoryPool pool) noexcept {
    if (pool == nullptr || !any_twins.load(std::memory_order_acquire))
        return pool;
    const record::Guard guard(mutex);
    for (const PoolTwins& known : pools)
        if (std::find(std::begin(known.twins), std::end(known.twins), pool) != std::end(known.twins))
            return known.original;
    return pool;
}

void set_on_twins(CUmemoryPool pool, CUmemPool_attribute attribute, void* value) noexcept {
    for_each_twin(pool,
                  [&](CUmemoryPool twin) { real<Entry::cuMemPoolSetAttribute>()(twin, attribute, value); });
}

void add_of_twins(CUmemoryPool pool, CUmemPool_attribute attribute, void* value) noexcept {
    if (attribute < CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT || attribute > CU_MEMPOOL_ATTR_USED_MEM_HIGH)
        return;
    for_each_twin(pool, [&](CUmemoryPool twin) {
        cuuint64_t bytes = 0;
        if (real<Entry::cuMemPoolGetAttribute>()(twin, attribute, &bytes) == CUDA_SUCCESS)
            *static_cast<cuuint64_t*>(value) += bytes;
    });
}

void trim_twins(CUmemoryPool pool, std::size_t keep) noexcept {
    for_each_twin(pool, [&](CUmemoryPool twin) { real<Entry::cuMemPoolTrimTo>()(twin, keep); });
}

} // namespace umadvisor::act
