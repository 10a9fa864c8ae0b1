#include "interposer/observe/device_timer.hpp"

#include "interposer/attach/real.hpp"
#include "interposer/observe/budget.hpp"
#include "interposer/observe/capture.hpp"
#include "interposer/observe/try_lock.hpp"
#include "interposer/record/bounds.hpp"
#include "interposer/record/clock.hpp"
#include "interposer/record/quiet.hpp"
#include "interposer/record/recorder.hpp"
#include "interposer/runtime/options.hpp"
#include "residency/prices.hpp"

#include <algorithm>
#include <atomic>
#include <bit>

namespace umadvisor::observe {

enum class PairState : std::uint8_t { unused, idle, begun, ended, lost };

struct EventPair {
    CUevent from = nullptr, to = nullptr;
    std::uint64_t sample = 0; ///< 0: around nothing
    std::atomic<PairState> state{PairState::unused};
};

namespace {

using attach::Entry;
using attach::real;

constexpr std::uint64_t first_samples = 8;

/// Calls between samples, after `calls` calls. The cost of a pair is 1% or less of 64 calls. After thousands of
/// samples, more add nothing.
std::uint64_t interval_after(std::uint64_t calls) {
    return calls < 4096 ? 64 : calls < 65536 ? 256 : 1024;
}

constexpr int pairs_per_context = 256;
constexpr int floor_pairs = 4; ///< around nothing, before the first samples of a context
constexpr int max_troubles = 64;
constexpr int max_unfinished = 16; ///< in one collect(): later pairs are hardly complete either

/// The events of one context.
struct Pool {
    CUcontext context = nullptr;
    unsigned long long id = 0; ///< since addresses of contexts are used again; 0: the driver gives none
    std::uint64_t floor_nanoseconds = 0;
    int floors = 0, next = 0;
    EventPair pairs[pairs_per_context];
};

/// How often a key was seen. Keys that collide share a slot once its neighbours are in use.
struct Seen {
    std::atomic<std::uint64_t> key, count;
};
constexpr std::size_t key_slots = 4096;
constinit Seen seen[key_slots] = {};

TryLock lock; ///< guards the pools, except pairs that are begun
constinit Pool pools[record::most(record::Bound::timed_contexts)] = {};
constinit std::atomic<std::uint64_t> last_sample{0}, pairs_recorded{0};
constinit Budget budget{10'000'000};
constinit std::atomic<int> in_flight{0}, troubles{0};

void trouble() {
    if (troubles.fetch_add(1, std::memory_order_relaxed) + 1 == max_troubles)
        record::note("device times are sampled no longer: the driver refused %d event calls", max_troubles);
}

/// How often the key was seen before.
std::uint64_t count_up(std::uint64_t key, std::uint32_t calls) {
    key |= key == 0;
    const auto home = static_cast<std::size_t>(key * 0x9e3779b97f4a7c15u >> 52);
    for (std::size_t i = 0; i < 8; ++i) {
        Seen& slot = seen[(home + i) % key_slots];
        std::uint64_t there = slot.key.load(std::memory_order_relaxed);
        if (there == key ||
            (there == 0 &&
             (slot.key.compare_exchange_strong(there, key, std::memory_order_relaxed) || there == key)))
            return slot.count.fetch_add(calls, std::memory_order_relaxed);
    }
    return seen[home].count.fetch_add(calls, std::memory_order_relaxed);
}

bool affordable() {
    return pairs_recorded.load(std::memory_order_relaxed) * residency::decision_prices.event_pair <
           budget.so_far();
}

/// The events were destroyed with their context, so they are only forgotten.
void forget(Pool& pool) {
    for (EventPair& pair : pool.pairs) {
        if (pair.state.load(std::memory_order_relaxed) == PairState::ended)
            in_flight.fetch_sub(1, std::memory_order_relaxed);
        // A pair that another thread has begun is never used again.
        PairState state = pair.state.load(std::memory_order_relaxed);
        while (state != PairState::begun && !pair.state.compare_exchange_weak(state, PairState::unused)) {
        }
    }
    pool.context = nullptr;
    pool.floors = 0;
    pool.floor_nanoseconds = 0;
}

/// The pool of the current context; null: none, or too many contexts.
Pool* current_pool(bool make) {
    CUcontext context = nullptr;
    if (real<Entry::cuCtxGetCurrent>()(&context) != CUDA_SUCCESS || context == nullptr)
        return nullptr;
    unsigned long long id = 0;
    if (real<Entry::cuCtxGetId>()(context, &id) != CUDA_SUCCESS)
        id = 0;
    Pool* free = nullptr;
    for (Pool& pool : pools) {
        if (pool.context == context) {
            if (pool.id == id)
                return &pool;
            forget(pool);
        }
        if (pool.context == nullptr && free == nullptr)
            free = &pool;
    }
    if (make && free == nullptr)
        record::reached(record::Bound::timed_contexts);
    if (!make || free == nullptr)
        return nullptr;
    free->context = context;
    free->id = id;
    return free;
}

/// An idle pair, its events made if need be; null when the pool is exhausted.
EventPair* claim_pair(Pool& pool) {
    for (int i = 0; i < pairs_per_context; ++i) {
        EventPair& pair = pool.pairs[(pool.next + i) % pairs_per_context];
        const PairState state = pair.state.load(std::memory_order_acquire);
        if (state == PairState::unused) {
            if (real<Entry::cuEventCreate>()(&pair.from, CU_EVENT_DEFAULT) != CUDA_SUCCESS ||
                real<Entry::cuEventCreate>()(&pair.to, CU_EVENT_DEFAULT) != CUDA_SUCCESS) {
                trouble();
                return nullptr;
            }
        } else if (state != PairState::idle) {
            continue;
        }
        pool.next = (pool.next + i + 1) % pairs_per_context;
        pair.state.store(PairState::begun, std::memory_order_release);
        return &pair;
    }
    return nullptr;
}

void give_back(EventPair& pair) {
    pair.state.store(PairState::idle, std::memory_order_release);
}

void ended(EventPair& pair) {
    in_flight.fetch_add(1, std::memory_order_relaxed);
    pair.state.store(PairState::ended, std::memory_order_release);
}

bool record_on(CUevent event, CUstream stream) {
    if (real<Entry::cuEventRecord>()(event, stream) == CUDA_SUCCESS)
        return true;
    trouble(); // the stream may be of another context
    return false;
}

void measure_floor(Pool& pool, CUstream stream) {
    EventPair* const pair = pool.floors < floor_pairs ? claim_pair(pool) : nullptr;
    if (pair == nullptr)
        return;
    ++pool.floors;
    pair->sample = 0;
    if (record_on(pair->from, stream) && record_on(pair->to, stream))
        ended(*pair);
    else
        give_back(*pair);
}

CUresult elapsed(float& milliseconds, const EventPair& pair) {
    return attach::available(Entry::cuEventElapsedTime)
               ? real<Entry::cuEventElapsedTime>()(&milliseconds, pair.from, pair.to)
               : real<Entry::cuEventElapsedTime_v2>()(&milliseconds, pair.from, pair.to);
}

/// False while the device has not reached its end.
bool read(Pool& pool, EventPair& pair) {
    const CUresult answer = real<Entry::cuEventQuery>()(pair.to);
    if (answer == CUDA_ERROR_NOT_READY)
        return false;
    in_flight.fetch_sub(1, std::memory_order_relaxed);
    float milliseconds = 0;
    if (answer != CUDA_SUCCESS || elapsed(milliseconds, pair) != CUDA_SUCCESS) {
        trouble();
        pair.state.store(PairState::lost, std::memory_order_release);
        return true;
    }
    const auto nanoseconds = static_cast<std::uint64_t>(std::max(milliseconds, 0.0f) * 1e6);
    if (pair.sample == 0) {
        if (pool.floor_nanoseconds == 0 || nanoseconds < pool.floor_nanoseconds)
            pool.floor_nanoseconds = nanoseconds;
    } else {
        trace::DeviceTime record;
        record.start = record::now();
        record.sample = pair.sample;
        record.nanoseconds = nanoseconds;
        record.floor_nanoseconds = pool.floor_nanoseconds;
        record::write(record);
    }
    give_back(pair);
    return true;
}

} // namespace

DeviceTimer& device_timer() noexcept {
    static constinit DeviceTimer timer;
    return timer;
}

void DeviceTimer::set_allowance(std::uint64_t nanoseconds) noexcept {
    budget.set_allowance(nanoseconds);
}

DeviceSample DeviceTimer::begin(CUstream stream, std::uint64_t key, std::uint32_t& calls) noexcept {
    const std::uint64_t before = count_up(key, calls), after = before + calls;
    const std::uint64_t interval = interval_after(before);
    calls = after < first_samples ? 1 : static_cast<std::uint32_t>(interval);
    // Whether one of the calls asked for is due.
    if (before >= first_samples && (before + interval - 1) / interval == (after + interval - 1) / interval)
        return {};
    if (runtime::options().device_timing != runtime::DeviceTiming::on ||
        troubles.load(std::memory_order_relaxed) >= max_troubles || !affordable())
        return {};
    const record::Quiet quiet;
    const std::uint64_t start = record::now();
    const RelaxedCapture relaxed;
    if (may_be_capturing(stream))
        return {};
    EventPair* pair = nullptr;
    {
        const TryLock::Attempt attempt(lock);
        Pool* const pool = attempt ? current_pool(true) : nullptr;
        if (pool == nullptr)
            return {};
        measure_floor(*pool, stream);
        pair = claim_pair(*pool);
    }
    if (pair == nullptr)
        return {};
    pairs_recorded.fetch_add(1, std::memory_order_relaxed);
    if (!record_on(pair->from, stream)) {
        give_back(*pair);
        return {};
    }
    pair->sample = last_sample.fetch_add(1, std::memory_order_relaxed) + 1;
    record::charge(record::now() - start);
    return {pair->sample, pair};
}

void DeviceTimer::begin_recording() noexcept {
    for (Seen& slot : seen) {
        slot.key.store(0, std::memory_order_relaxed);
        slot.count.store(0, std::memory_order_relaxed);
    }
}

void DeviceTimer::record_end(EventPair& pair, CUstream stream) noexcept {
    const record::Quiet quiet;
    const RelaxedCapture relaxed;
    if (record_on(pair.to, stream))
        ended(pair);
    else
        give_back(pair);
}

void DeviceTimer::collect() noexcept {
    if (in_flight.load(std::memory_order_relaxed) <= 0)
        return;
    const TryLock::Attempt attempt(lock);
    if (!attempt)
        return;
    const record::Quiet quiet;
    const std::uint64_t start = record::now();
    const RelaxedCapture relaxed;
    if (Pool* const pool = current_pool(false)) {
        int unfinished = 0;
        // Oldest first, since pairs are claimed in the order of the array.
        for (int i = 0; i < pairs_per_context && unfinished < max_unfinished; ++i) {
            EventPair& pair = pool->pairs[(pool->next + i) % pairs_per_context];
            if (pair.state.load(std::memory_order_acquire) == PairState::ended && !read(*pool, pair))
                ++unfinished;
        }
    }
    record::charge(record::now() - start);
}

} // namespace umadvisor::observe
