/// `--act stage`: copies between pageable and device memory pass through pinned buffers that a few threads fill
/// or empty, while the device transfers at the rate of pinned memory.
///
/// A staged copy gives the guarantees of the original. Earlier work of the stream comes first; the driver, too,
/// waits for it before it reads pageable memory (CUDA driver API, "API synchronization behavior"). When the
/// call returns, the source may be used again, and copies to the host and synchronous copies are complete. If a
/// driver call fails, the original call is made for the whole copy, and the program gets its answer.
///
/// Not staged are: all copies while the program captures a stream; copies whose ends are not within one device
/// allocation and within pageable memory; copies on streams of another context than the current one; a second
/// copy in a context while one is staged; call sites as reason_to_leave() says.
#include "interposer/act/cores.hpp"
#include "interposer/act/deferred.hpp"
#include "interposer/act/devices.hpp"
#include "interposer/act/host.hpp"
#include "interposer/act/plan.hpp"
#include "interposer/act/stage_ring.hpp"
#include "interposer/attach/real.hpp"
#include "interposer/observe/capture.hpp"
#include "interposer/observe/memory_class.hpp"
#include "interposer/record/mutex.hpp"
#include "interposer/record/quiet.hpp"
#include "interposer/record/recorder.hpp"
#include "policy/stage_plan.hpp"

#include <algorithm>
#include <unistd.h>

namespace umadvisor::act {

namespace {

using attach::Entry;
using attach::real;

constinit StagePool threads;
record::Mutex starting{record::Lock::actions};
bool ring_stays_cached = false;
bool started = false; ///< whether pool_runs() has tried to start the threads
pid_t owner = 0;      ///< the process whose threads the pool has

/// Whether the cache holds a ring and as much memory that is copied into it.
bool cache_holds_a_ring() {
    return sysconf(_SC_LEVEL3_CACHE_SIZE) >=
           static_cast<long>(2 * policy::stage_buffers * policy::stage_buffer_bytes);
}

void refuse(const char* why) {
    announce("--act stage is refused: %s; copies run as they would without", why);
}

/// Starts the threads at the first copy that needs them.
bool pool_runs() {
    const record::Guard guard(starting);
    if (!started) {
        started = true;
        owner = getpid();
        if (!threads.start(policy::stage_threads_for(usable_cores())) && modes::stage.on.exchange(false))
            refuse("no thread can be started");
    }
    return modes::stage.on.load(std::memory_order_acquire) &&
           owner == getpid(); // a child by _Fork(3) has no threads
}

/// Whether both ends are, in all their bytes, of the memory that their first bytes are of.
bool is_whole(const trace::Copy& copy, policy::StageDirection direction) {
    const bool to_device = direction == policy::StageDirection::to_device;
    const std::uint64_t device = to_device ? copy.destination : copy.source;
    const std::uint64_t host = to_device ? copy.source : copy.destination;
    const policy::StageRows rows = policy::stage_rows(copy, direction);
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

/// The current context, if the stream belongs to it and is certain not to capture; else null.
CUcontext context_of(CUstream stream) {
    const CUcontext current = current_context_of(stream);
    return current != nullptr && !observe::may_be_capturing(stream) ? current : nullptr;
}

/// Moves one copy through a ring: its pieces in order, each one as soon as its buffer is free. `stream` is an
/// explicit handle of the ring's context, whose earlier work is done. `cached`: for stage_manner(). A failed
/// driver call ends the copy with the driver's answer.
class StagePassage {
public:
    StagePassage(StageRing& ring, StagePool& pool, bool cached, CUstream stream, CUdeviceptr device, char* host,
                 std::uint64_t bytes, policy::StageRows rows) noexcept
        : ring_(ring),
          pool_(pool),
          cached_(cached),
          stream_(stream),
          device_(device),
          host_(host),
          rows_(rows),
          plan_(bytes, ring.buffer_bytes, rows.width == 0 ? 1 : rows.width) {}

    /// Returns when the host's memory has been read; the last transfers may be under way.
    CUresult to_device() noexcept {
        for (; passed_ < plan_.count(); ++passed_) {
            if (const CUresult answer = fill_ahead(); answer != CUDA_SUCCESS)
                return answer;
            StageBuffer& full = buffer(passed_);
            pool_.wait(full.job);
            const CUresult answer = transferred(full, transfer(passed_, true));
            if (answer != CUDA_SUCCESS)
                return answer;
        }
        return CUDA_SUCCESS;
    }

    /// Returns when all is in the host's memory.
    CUresult to_host() noexcept {
        pool_.rouse();
        for (; passed_ < plan_.count(); ++passed_, ++put_) {
            CUresult answer = fetch_ahead();
            StageBuffer& full = buffer(passed_);
            if (answer == CUDA_SUCCESS)
                answer = await(full);
            if (answer != CUDA_SUCCESS)
                return answer;
            full.job = job(passed_, false);
            pool_.put(full.job);
        }
        finish_jobs();
        return CUDA_SUCCESS;
    }

    /// After to_device(): waits until the last transfer is done.
    CUresult finish() noexcept { return await(buffer(plan_.count() - 1)); }

    /// After a failure: waits until no transfer uses the program's memory, also one whose event could not be
    /// recorded. False: the device may still use the ring.
    bool abandon() noexcept {
        finish_jobs();
        return real<Entry::cuStreamSynchronize>()(stream_) == CUDA_SUCCESS;
    }

private:
    StageBuffer& buffer(std::size_t piece) noexcept { return ring_.buffers[piece % policy::stage_buffers]; }

    CUresult await(StageBuffer& buffer) noexcept {
        const CUresult answer = real<Entry::cuEventSynchronize>()(buffer.passed);
        buffer.in_flight = buffer.in_flight && answer != CUDA_SUCCESS;
        return answer;
    }

    /// After a transfer between device and buffer: records the event for its end.
    CUresult transferred(StageBuffer& buffer, CUresult answer) noexcept {
        if (answer == CUDA_SUCCESS)
            answer = real<Entry::cuEventRecord>()(buffer.passed, stream_);
        buffer.in_flight = answer == CUDA_SUCCESS;
        return answer;
    }

    char* host_of(std::size_t piece) const noexcept {
        const std::uint64_t offset = plan_.offset(piece);
        return host_ + (rows_.width == 0 ? offset : offset / rows_.width * rows_.host_pitch);
    }

    StageJob job(std::size_t piece, bool fill) noexcept {
        char *const pinned = buffer(piece).at, *const host = host_of(piece);
        return {.to = fill ? pinned : host,
                .from = fill ? host : pinned,
                .bytes = plan_.bytes(piece),
                .manner = policy::stage_manner(piece, plan_.count(), cached_),
                .width = rows_.width,
                .to_pitch = fill ? rows_.width : rows_.host_pitch,
                .from_pitch = fill ? rows_.host_pitch : rows_.width};
    }

    /// Between the piece's buffer and the device.
    CUresult transfer(std::size_t piece, bool to_device) noexcept {
        char* const pinned = buffer(piece).at;
        const std::uint64_t offset = plan_.offset(piece);
        const std::size_t bytes = plan_.bytes(piece);
        if (rows_.width == 0)
            return to_device ? real<Entry::cuMemcpyHtoDAsync_v2>()(device_ + offset, pinned, bytes, stream_)
                             : real<Entry::cuMemcpyDtoHAsync_v2>()(pinned, device_ + offset, bytes, stream_);
        CUDA_MEMCPY2D copy{};
        copy.srcMemoryType = to_device ? CU_MEMORYTYPE_HOST : CU_MEMORYTYPE_DEVICE;
        copy.dstMemoryType = to_device ? CU_MEMORYTYPE_DEVICE : CU_MEMORYTYPE_HOST;
        copy.srcHost = copy.dstHost = pinned;
        copy.srcDevice = copy.dstDevice = device_ + offset / rows_.width * rows_.device_pitch;
        copy.srcPitch = to_device ? rows_.width : rows_.device_pitch;
        copy.dstPitch = to_device ? rows_.device_pitch : rows_.width;
        copy.WidthInBytes = rows_.width;
        copy.Height = bytes / rows_.width;
        return real<Entry::cuMemcpy2DAsync_v2>()(&copy, stream_);
    }

    /// Has the pool fill every free buffer; waits only for the one that is to be sent next.
    CUresult fill_ahead() noexcept {
        for (; begun_ < plan_.count() && begun_ < passed_ + policy::stage_buffers; ++begun_, ++put_) {
            StageBuffer& next = buffer(begun_);
            if (next.in_flight) {
                const bool needed = begun_ == passed_;
                const CUresult answer = needed ? await(next) : real<Entry::cuEventQuery>()(next.passed);
                if (answer == CUDA_ERROR_NOT_READY && !needed)
                    return CUDA_SUCCESS;
                if (answer != CUDA_SUCCESS)
                    return answer;
                next.in_flight = false;
            }
            next.job = job(begun_, true);
            pool_.put(next.job);
        }
        return CUDA_SUCCESS;
    }

    /// Has the device fill every free buffer; waits only for the one that is needed next.
    CUresult fetch_ahead() noexcept {
        for (; begun_ < plan_.count() && begun_ < passed_ + policy::stage_buffers; ++begun_) {
            StageBuffer& next = buffer(begun_);
            if (begun_ >= policy::stage_buffers) {
                if (begun_ == passed_)
                    pool_.wait(next.job);
                else if (!pool_.finished(next.job))
                    return CUDA_SUCCESS;
            }
            if (next.in_flight) // by an earlier copy to the device
                if (const CUresult answer = await(next); answer != CUDA_SUCCESS)
                    return answer;
            const CUresult answer = transferred(next, transfer(begun_, false));
            if (answer != CUDA_SUCCESS)
                return answer;
        }
        return CUDA_SUCCESS;
    }

    void finish_jobs() noexcept {
        for (std::size_t piece = put_ - std::min<std::size_t>(put_, policy::stage_buffers); piece < put_;
             ++piece)
            pool_.wait(buffer(piece).job);
    }

    StageRing& ring_;
    StagePool& pool_;
    bool cached_;
    CUstream stream_;
    CUdeviceptr device_;
    char* host_;
    policy::StageRows rows_;
    policy::StagePlan plan_;
    std::size_t begun_ = 0;  ///< pieces that were given a buffer
    std::size_t passed_ = 0; ///< pieces that have left their buffer, or are about to
    std::size_t put_ = 0;    ///< pieces that were put into the pool
};

record::Mutex trials_mutex{record::Lock::actions}; ///< guards `trials`
constinit policy::StageTrials trials;
constinit trace::ClockPair begun{}; ///< written before the first copy, for the rate of the ticks
constinit std::atomic_flag plan_noted{};

std::uint64_t name_of(std::uint64_t stack, policy::StageDirection direction) {
    return stack << 2 | static_cast<std::uint64_t>(direction);
}

trace::Reason reason_of(policy::StageTrials::Choice choice) {
    switch (choice) {
    case policy::StageTrials::Choice::compare:
        return trace::Reason::compared;
    case policy::StageTrials::Choice::leave:
        return trace::Reason::slower_staged;
    default:
        return trace::Reason::none;
    }
}

/// GB/s.
double speed_of(const policy::StagePace& pace) {
    const trace::ClockPair now = record::read_clock_pair();
    const auto nanoseconds = static_cast<double>(now.monotonic_ns - begun.monotonic_ns) /
                             static_cast<double>(now.ticks - begun.ticks) * static_cast<double>(pace.ticks);
    return static_cast<double>(pace.bytes) / nanoseconds;
}

/// Why the driver is to make the copy of this thread's current call; `none`: it is to be staged. Now and then
/// the driver makes one, so that the trace shows what staging gains. `--act auto` gives up call sites where the
/// driver is faster, and a plan names some.
trace::Reason reason_to_leave(policy::StageDirection direction) {
    const std::uint64_t stack = record::stack();
    if (plan_leaves(trace::ActMode::stage, stack)) {
        if (!plan_noted.test_and_set(std::memory_order_relaxed))
            record::note("--act stage: copies at call sites that the plan names are left to the driver");
        return trace::Reason::never_stage;
    }
    const record::Guard guard(trials_mutex);
    return reason_of(trials.choose(name_of(stack, direction)));
}

/// The copy's time counts for its call site, which may be given up for it.
void after_copy(trace::Copy& copy) noexcept {
    if ((copy.staged == 0 && copy.reason != trace::Reason::compared) || copy.status != CUDA_SUCCESS)
        return;
    const policy::StageDirection direction = policy::stage_direction(copy);
    const std::uint64_t name = name_of(copy.stack, direction);
    const policy::StagePace pace{copy.bytes, copy.duration - copy.wait_duration};
    policy::StagePace staged;
    {
        const record::Guard guard(trials_mutex);
        if (copy.staged != 0)
            return trials.staged(name, pace);
        if (!trials.compared(name, pace, staged))
            return;
    }
    copy.reason = trace::Reason::slower_staged;
    record::note(
        record::About{.stack = copy.stack},
        "--act stage: copies %s at one call site are left to the driver from now on, which moved %.1f GB/s, "
        "against %.1f GB/s staged",
        direction == policy::StageDirection::to_device ? "to the device" : "to the host", speed_of(pace),
        speed_of(staged));
}

CUresult pass(StageRing& ring, const trace::Copy& copy, policy::StageDirection direction, CUstream stream,
              bool& usable) {
    const bool to_device = direction == policy::StageDirection::to_device;
    const bool cached = to_device && ring_stays_cached && ring.buffer_bytes == policy::stage_buffer_bytes;
    StagePassage passage(ring, threads, cached, stream, to_device ? copy.destination : copy.source,
                         reinterpret_cast<char*>(to_device ? copy.source : copy.destination), copy.bytes,
                         policy::stage_rows(copy, direction));
    CUresult answer = to_device ? passage.to_device() : passage.to_host();
    if (answer == CUDA_SUCCESS && to_device && copy.asynchronous == 0)
        answer = passage.finish();
    usable = answer == CUDA_SUCCESS || passage.abandon();
    return answer;
}

bool instead_of_copy(trace::Copy& copy) noexcept {
    const policy::StageDirection direction = policy::stage_direction(copy);
    if (direction == policy::StageDirection::none || !observe::nothing_is_captured())
        return false;
    const record::Quiet quiet;
    if (!is_whole(copy, direction) || !pool_runs())
        return false;
    const auto stream = reinterpret_cast<CUstream>(copy.stream);
    const observe::RelaxedCapture relaxed;
    const CUcontext context = context_of(stream);
    if (context == nullptr)
        return false;
    const trace::Reason left = reason_to_leave(direction);
    if (left == trace::Reason::never_stage || left == trace::Reason::slower_staged) {
        copy.reason = left;
        return false;
    }
    if (calls_are_deferred()) // they come before this copy
        make_deferred_calls();
    // Before a ring is borrowed: the stream's earlier work may wait for another thread's copy, which needs the
    // ring.
    CUresult answer = real<Entry::cuStreamSynchronize>()(stream);
    if (answer != CUDA_SUCCESS) {
        modes::stage.fail(answer);
        return false;
    }
    copy.wait_duration = record::now() - copy.start;
    copy.reason = left;
    if (left == trace::Reason::compared)
        return false;
    StageRing* const ring = borrow_ring(context, policy::stage_rows(copy, direction).width, answer);
    if (ring == nullptr) {
        if (answer != CUDA_SUCCESS && modes::stage.on.exchange(false))
            refuse("the driver gives no pinned memory");
        return false;
    }
    bool usable = true;
    ring->passed += copy.bytes;
    answer = pass(*ring, copy, direction, stream, usable);
    if (usable)
        return_ring(*ring);
    if (answer != CUDA_SUCCESS) {
        modes::stage.fail(answer);
        return false;
    }
    copy.staged = 1;
    return true;
}

bool start(const runtime::Options& options, const DeviceCount& devices) noexcept {
    const char* why = nullptr;
    if (policy::stage_threads_for(usable_cores()) == 0)
        why = "the process may use one core only";
    else if (devices.read_host != 0) // Grace Hopper: staging gains nothing
        why = "the device reads pageable memory by itself";
    if (why != nullptr) {
        refuse(why);
        return false;
    }
    ring_stays_cached = cache_holds_a_ring();
    if (!options.act_auto)
        trials.only_measure();
    begun = record::read_clock_pair();
    expect_to_pass(planned_stage_bytes());
    return true;
}

} // namespace

constinit Action modes::stage{
    .name = "stage",
    .start = &start,
    .instead_of_copy = &instead_of_copy,
    .after_copy = &after_copy,
    .on_context_end = &forget_ring,
};

} // namespace umadvisor::act
