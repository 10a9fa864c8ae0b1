#include "interposer/act/stage.hpp"

#include "interposer/act/control_groups.hpp"
#include "interposer/act/mode.hpp"
#include "interposer/act/plan.hpp"
#include "interposer/act/stage_passage.hpp"
#include "interposer/act/stage_pool.hpp"
#include "interposer/act/stage_ring.hpp"
#include "interposer/act/stage_sites.hpp"
#include "interposer/attach/real.hpp"
#include "interposer/observe/allocations.hpp"
#include "interposer/observe/capture.hpp"
#include "interposer/observe/memory_class.hpp"
#include "interposer/record/mutex.hpp"
#include "interposer/record/quiet.hpp"
#include "interposer/record/recorder.hpp"
#include "interposer/runtime/message.hpp"
#include "interposer/runtime/own_thread.hpp"
#include "policy/stage_plan.hpp"

#include <algorithm>
#include <unistd.h>

namespace umadvisor::act {

namespace detail {
constinit std::atomic<bool> staging_wanted{false};
}

namespace {

using attach::Entry;
using attach::real;

constinit StagePool pool;
constinit Mode staging{"stage"};
record::Mutex starting;
bool ring_stays_cached = false;
bool started = false; ///< the pool was, or could not be
pid_t owner = 0;      ///< the process whose threads the pool has

unsigned cores() {
    const unsigned remembered = runtime::remembered_cores();
    const auto bound = remembered != 0 ? remembered : static_cast<unsigned>(sysconf(_SC_NPROCESSORS_ONLN));
    return static_cast<unsigned>(std::min<std::uint64_t>(bound, cores_of_groups()));
}

/// Beside as much of what is copied into it.
bool cache_holds_a_ring() {
    return sysconf(_SC_LEVEL3_CACHE_SIZE) >=
           static_cast<long>(2 * policy::stage_buffers * policy::stage_buffer_bytes);
}

void refuse(const char* why) {
    runtime::say("--act stage is refused: %s; copies run as they would without", why);
    record::note("--act stage is refused: %s; copies run as they would without", why);
}

/// The device reads pageable memory where it lies (Grace Hopper): there is nothing to gain.
bool reads_pageable_memory() {
    int count = 0;
    real<Entry::cuDeviceGetCount>()(&count);
    for (int ordinal = 0; ordinal < count; ++ordinal) {
        CUdevice device = 0;
        int reads = 0;
        if (real<Entry::cuDeviceGet>()(&device, ordinal) == CUDA_SUCCESS &&
            real<Entry::cuDeviceGetAttribute>()(
                &reads, CU_DEVICE_ATTRIBUTE_PAGEABLE_MEMORY_ACCESS_USES_HOST_PAGE_TABLES, device) ==
                CUDA_SUCCESS &&
            reads != 0)
            return true;
    }
    return false;
}

/// At the first copy that needs it.
bool pool_runs() {
    const record::Guard guard(starting);
    if (!started) {
        started = true;
        owner = getpid();
        if (!pool.start(policy::stage_threads_for(cores())) && staging.on.exchange(false))
            refuse("no thread can be started");
    }
    return staging.on.load(std::memory_order_acquire) &&
           owner == getpid(); // a child by _Fork(3) has no threads
}

/// Both ends are all of what their first bytes are.
bool is_whole(const trace::Copy& copy, policy::StageWay way) {
    const bool to_device = way == policy::StageWay::to_device;
    const std::uint64_t device = to_device ? copy.destination : copy.source;
    const std::uint64_t host = to_device ? copy.source : copy.destination;
    const policy::StageRows rows = policy::stage_rows(copy, way);
    const auto span = [&](std::uint64_t pitch) {
        return rows.width == 0 ? copy.bytes : (copy.bytes / rows.width - 1) * pitch + rows.width;
    };
    const std::uint64_t host_bytes = span(rows.host_pitch);
    observe::Allocation allocation;
    return observe::allocations().find(device, allocation) && allocation.memory == trace::Memory::device &&
           span(rows.device_pitch) <= allocation.address + allocation.bytes - device &&
           !observe::allocations().overlaps(host, host + host_bytes) &&
           observe::classify(host + host_bytes - 1, 1).memory == trace::Memory::pageable;
}

/// The current context, if the stream is one of its own and is certain to run what it is given.
CUcontext context_of(CUstream stream) {
    CUcontext current = nullptr, of_stream = nullptr;
    const bool ours = real<Entry::cuCtxGetCurrent>()(&current) == CUDA_SUCCESS &&
                      real<Entry::cuStreamGetCtx>()(stream, &of_stream) == CUDA_SUCCESS && current == of_stream;
    return ours && !observe::may_be_capturing(stream) ? current : nullptr;
}

CUresult pass(StageRing& ring, const trace::Copy& copy, policy::StageWay way, CUstream stream, bool& usable) {
    const bool to_device = way == policy::StageWay::to_device;
    const bool cached = to_device && ring_stays_cached && ring.buffer_bytes == policy::stage_buffer_bytes;
    StagePassage passage(ring, pool, cached, stream, to_device ? copy.destination : copy.source,
                         reinterpret_cast<char*>(to_device ? copy.source : copy.destination), copy.bytes,
                         policy::stage_rows(copy, way));
    CUresult answer = to_device ? passage.to_device() : passage.to_host();
    if (answer == CUDA_SUCCESS && to_device && copy.asynchronous == 0)
        answer = passage.finish();
    usable = answer == CUDA_SUCCESS || passage.abandon();
    return answer;
}

} // namespace

void initialize_staging(const runtime::Options& options) noexcept {
    if (!options.act_stage)
        return;
    if (policy::stage_threads_for(cores()) == 0)
        return refuse("the process may use one core only");
    if (reads_pageable_memory())
        return refuse("the device reads pageable memory by itself");
    ring_stays_cached = cache_holds_a_ring();
    initialize_stage_sites(options);
    expect_to_pass(planned_stage_bytes());
    staging.on.store(true, std::memory_order_release);
    detail::staging_wanted.store(true, std::memory_order_release);
}

bool detail::stage(trace::Copy& copy) noexcept {
    const policy::StageWay way = policy::stage_way(copy);
    if (way == policy::StageWay::none || !staging.on.load(std::memory_order_acquire) ||
        !observe::nothing_is_captured())
        return false;
    const record::Quiet quiet;
    if (!is_whole(copy, way) || !pool_runs())
        return false;
    const auto stream = reinterpret_cast<CUstream>(copy.stream);
    const observe::RelaxedCapture relaxed;
    const CUcontext context = context_of(stream);
    if (context == nullptr)
        return false;
    const trace::Reason left = reason_to_leave(way);
    if (left == trace::Reason::never_stage || left == trace::Reason::slower_staged) {
        copy.reason = left;
        return false;
    }
    // Before a ring is taken: what the stream waits for may wait for another thread's copy.
    CUresult answer = real<Entry::cuStreamSynchronize>()(stream);
    if (answer != CUDA_SUCCESS) {
        staging.fail(answer);
        return false;
    }
    copy.wait_duration = record::now() - copy.start;
    copy.reason = left;
    if (left == trace::Reason::compared)
        return false;
    StageRing* const ring = borrow_ring(context, policy::stage_rows(copy, way).width, answer);
    if (ring == nullptr) {
        if (answer != CUDA_SUCCESS && staging.on.exchange(false))
            refuse("the driver gives no pinned memory");
        return false;
    }
    bool usable = true;
    ring->passed += copy.bytes;
    answer = pass(*ring, copy, way, stream, usable);
    if (usable)
        return_ring(*ring);
    if (answer != CUDA_SUCCESS) {
        staging.fail(answer);
        return false;
    }
    copy.staged = 1;
    return true;
}

} // namespace umadvisor::act
