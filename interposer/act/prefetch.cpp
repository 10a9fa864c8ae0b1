#include "interposer/act/prefetch.hpp"

#include "interposer/act/devices.hpp"
#include "interposer/act/mode.hpp"
#include "interposer/act/placement.hpp"
#include "interposer/act/prefetch_plan.hpp"
#include "interposer/act/residency_map.hpp"
#include "interposer/observe/capture.hpp"
#include "interposer/observe/residency_sampler.hpp"
#include "interposer/record/mutex.hpp"
#include "interposer/record/quiet.hpp"
#include "interposer/record/recorder.hpp"

#include <algorithm>
#include <atomic>

namespace umadvisor::act {

namespace {

constinit Mode prefetch{"prefetch"};
constinit std::atomic<bool> told_blind{false};

record::Mutex mutex;
constinit ResidencyMap residency;

constexpr observe::ResidencyListener listener{
    [](const observe::Allocation& allocation, std::uint64_t first, std::uint64_t last) noexcept {
        const record::Guard guard(mutex);
        residency.looking(allocation.id, first, last);
    },
    [](const observe::Allocation& allocation, std::uint64_t first, std::uint64_t last) noexcept {
        const record::Guard guard(mutex);
        residency.moved(allocation.id, first, last, BlockState::host);
    },
    [](const observe::Allocation& allocation) noexcept {
        // What the device has no room for is left to faults, which the trace shall show.
        const std::uint64_t card = allocation.device < max_devices
                                       ? state_of(static_cast<CUdevice>(allocation.device)).memory_bytes
                                       : 0;
        const record::Guard guard(mutex);
        return residency.worth_a_look(allocation.id) || residency.device_bytes() + allocation.bytes > card;
    },
};

/// Plans what is missing of `touched`, and takes it for done.
void plan(const observe::Touched& touched, std::uint64_t memory_bytes, PrefetchPlan& out) {
    ResidencyView views[observe::Touched::max_managed];
    std::size_t count = 0;
    for (std::uint32_t i = 0; i < touched.managed_count; ++i) {
        const observe::Allocation& allocation = touched.managed[i];
        count += residency.see(allocation.id, allocation.address, allocation.bytes, views[count]);
    }
    const std::uint64_t resident = residency.device_bytes();
    plan_prefetch({views, count}, memory_bytes - std::min(memory_bytes, resident), out);
    for (std::uint32_t i = 0; i < out.count; ++i)
        residency.moved(out.ranges[i].allocation, out.ranges[i].address,
                        out.ranges[i].address + out.ranges[i].bytes, BlockState::device);
    for (std::uint32_t i = 0; i < touched.managed_count; ++i)
        residency.launched(touched.managed[i].id, memory_bytes);
}

bool all_resident(const observe::Touched& touched) {
    const record::Guard guard(mutex);
    return std::all_of(touched.managed, touched.managed + touched.managed_count,
                       [](const observe::Allocation& allocation) { return residency.resident(allocation.id); });
}

} // namespace

void start_prefetching() noexcept {
    observe::residency_sampler().set_listener(&listener);
    prefetch.on.store(true, std::memory_order_release);
}

void before_launch(CUstream stream, attach::Entry launch_entry, const observe::Touched& touched) noexcept {
    if (!prefetch.on.load(std::memory_order_acquire))
        return;
    if (!touched.scanned && !told_blind.load(std::memory_order_relaxed) && !told_blind.exchange(true))
        record::note("--act prefetch: launches whose parameters this driver does not tell (before CUDA 12.4) "
                     "are left alone");
    if (touched.managed_count == 0 || all_resident(touched))
        return;
    const CUstream handle =
        stream == nullptr && attach::uses_per_thread_stream(launch_entry) ? CU_STREAM_PER_THREAD : stream;
    const record::Quiet quiet;
    const observe::RelaxedCapture relaxed;
    if (observe::may_be_capturing(handle))
        return;
    const CUdevice device = current_device();
    if (device < 0)
        return;
    PrefetchPlan missing;
    {
        const record::Guard guard(mutex);
        plan(touched, state_of(device).memory_bytes, missing);
    }
    for (std::uint32_t i = 0; i < missing.count; ++i) {
        const PrefetchRange& range = missing.ranges[i];
        const CUresult answer = prefetch_range(range, device, handle, trace::Reason::not_resident);
        if (answer != CUDA_SUCCESS)
            prefetch.fail(answer); // the launch will fault it in, as it would have
    }
}

void after_synchronize() noexcept {
    if (!prefetch.on.load(std::memory_order_relaxed))
        return;
    const bool seen = observe::residency_sampler().works();
    const record::Guard guard(mutex);
    residency.synchronized(seen);
}

void note_prefetch(const trace::Prefetch& done) noexcept {
    if (!prefetch.on.load(std::memory_order_relaxed))
        return;
    observe::Allocation allocation;
    if (!observe::allocations().find(done.address, allocation) || allocation.memory != trace::Memory::managed)
        return;
    const record::Guard guard(mutex);
    ResidencyView view;
    if (residency.see(allocation.id, allocation.address, allocation.bytes, view))
        residency.moved(allocation.id, done.address, done.address + done.bytes,
                        done.location == trace::Location::device ? BlockState::device : BlockState::unknown);
}

void note_resident(const observe::Allocation& allocation) noexcept {
    if (!prefetch.on.load(std::memory_order_relaxed))
        return;
    const record::Guard guard(mutex);
    ResidencyView view;
    if (residency.see(allocation.id, allocation.address, allocation.bytes, view))
        residency.moved(allocation.id, allocation.address, allocation.address + allocation.bytes,
                        BlockState::device);
}

void note_unsettled(std::uint64_t allocation, std::uint64_t first, std::uint64_t bytes) noexcept {
    if (!prefetch.on.load(std::memory_order_relaxed))
        return;
    const record::Guard guard(mutex);
    residency.moved(allocation, first, first + bytes, BlockState::unknown);
}

void forget_residency(const observe::Allocation& allocation) noexcept {
    if (!prefetch.on.load(std::memory_order_relaxed))
        return;
    const record::Guard guard(mutex);
    residency.forget(allocation.id);
}

} // namespace umadvisor::act
