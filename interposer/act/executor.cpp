#include "interposer/act/executor.hpp"

#include "interposer/act/mode.hpp"
#include "interposer/act/placement.hpp"
#include "interposer/act/policy.hpp"
#include "interposer/act/residency_map.hpp"
#include "interposer/attach/real.hpp"
#include "interposer/observe/capture.hpp"
#include "interposer/observe/residency_sampler.hpp"
#include "interposer/record/mutex.hpp"
#include "interposer/record/quiet.hpp"
#include "interposer/record/recorder.hpp"
#include "interposer/runtime/message.hpp"

#include <algorithm>
#include <atomic>
#include <cstdlib>

namespace umadvisor::act {

namespace {

using attach::Entry;
using attach::real;

constexpr int max_devices = 64;

struct Device {
    std::atomic<std::uint64_t> memory_bytes{0}, rewritten_bytes{0};
    std::atomic<bool> concurrent_managed_access{false};
};

constinit Device devices[max_devices];
constinit Mode prefetch{"prefetch"};
constinit Mode rewrite{"rewrite=all"};
constinit std::atomic<std::uint64_t> pretended{0};
constinit std::atomic<bool> told_blind{false};

record::Mutex mutex;
constinit ResidencyMap residency;

/// The current context's device; -1: none, or one that we do not act on.
CUdevice current_device() {
    CUdevice device = -1;
    if (real<Entry::cuCtxGetDevice>()(&device) != CUDA_SUCCESS || device < 0 || device >= max_devices)
        return -1;
    return devices[device].concurrent_managed_access.load(std::memory_order_relaxed) ? device : -1;
}

DeviceState state_of(CUdevice device) {
    const Device& known = devices[device];
    const std::uint64_t card = known.memory_bytes.load(std::memory_order_relaxed);
    const std::uint64_t smaller = pretended.load(std::memory_order_relaxed);
    return {smaller != 0 ? std::min(smaller, card) : card,
            known.rewritten_bytes.load(std::memory_order_relaxed),
            known.concurrent_managed_access.load(std::memory_order_relaxed)};
}

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
        advise(all[i], CU_MEM_ADVISE_UNSET_PREFERRED_LOCATION, device);
    std::free(all);
    record::note("--act rewrite=all: allocations no longer fit the device's memory; preferred locations were "
                 "taken back");
}

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

void initialize(const runtime::Options& options) noexcept {
    pretended.store(options.pretend_bytes, std::memory_order_relaxed);
    if (!options.act_prefetch && !options.act_rewrite_all && options.pretend_bytes == 0)
        return;
    int count = 0, able = 0;
    if (real<Entry::cuDeviceGetCount>()(&count) != CUDA_SUCCESS)
        count = 0;
    for (int ordinal = 0; ordinal < std::min(count, max_devices); ++ordinal) {
        CUdevice device = 0;
        std::size_t bytes = 0;
        int concurrent = 0;
        if (real<Entry::cuDeviceGet>()(&device, ordinal) != CUDA_SUCCESS || device < 0 || device >= max_devices)
            continue;
        real<Entry::cuDeviceTotalMem_v2>()(&bytes, device);
        real<Entry::cuDeviceGetAttribute>()(&concurrent, CU_DEVICE_ATTRIBUTE_CONCURRENT_MANAGED_ACCESS, device);
        devices[device].memory_bytes.store(bytes, std::memory_order_relaxed);
        devices[device].concurrent_managed_access.store(concurrent != 0, std::memory_order_relaxed);
        able += concurrent != 0;
    }
    if (!options.act_prefetch && !options.act_rewrite_all)
        return;
    if (able == 0) {
        constexpr const char* refusal =
            "--act is refused: no device has concurrentManagedAccess; the program runs as it would without";
        runtime::say("%s", refusal);
        record::note("%s", refusal);
        return;
    }
    if (able < count)
        record::note("--act leaves alone %d of %d devices, which have no concurrentManagedAccess", count - able,
                     count);
    if (options.act_prefetch)
        observe::residency_sampler().set_listener(&listener);
    prefetch.on.store(options.act_prefetch, std::memory_order_release);
    rewrite.on.store(options.act_rewrite_all, std::memory_order_release);
}

bool rewrite_allocation(CUdeviceptr* out, std::size_t bytes, CUresult& result) noexcept {
    if (!rewrite.on.load(std::memory_order_acquire) || out == nullptr)
        return false;
    const CUdevice device = current_device();
    if (device < 0 || !decide_allocation(bytes, state_of(device)).rewrite)
        return false;
    CUdeviceptr address = 0;
    const CUresult answer = real<Entry::cuMemAllocManaged>()(&address, bytes, CU_MEM_ATTACH_GLOBAL);
    if (answer != CUDA_SUCCESS) {
        rewrite.fail(answer);
        return false; // the program gets what its own call brings
    }
    *out = address;
    result = answer;
    return true;
}

void place(const observe::Allocation& allocation) noexcept {
    const auto device = static_cast<CUdevice>(allocation.device);
    if (!allocation.rewritten || device < 0 || device >= max_devices)
        return;
    const AllocationDecision decision = decide_allocation(allocation.bytes, state_of(device));
    devices[device].rewritten_bytes.fetch_add(allocation.bytes, std::memory_order_relaxed);
    const record::Quiet quiet;
    const observe::RelaxedCapture relaxed;
    if (decision.unplace_others)
        unplace_all(device, allocation);
    // The thread's own stream: it waits for no other stream of the program, unlike the legacy default stream.
    if (!decision.place || observe::may_be_capturing(CU_STREAM_PER_THREAD))
        return;
    CUresult answer = advise(allocation, CU_MEM_ADVISE_SET_PREFERRED_LOCATION, device);
    if (answer == CUDA_SUCCESS)
        answer = prefetch_range({allocation.id, allocation.address, allocation.bytes}, device,
                                CU_STREAM_PER_THREAD, trace::Reason::place_rewritten);
    if (answer != CUDA_SUCCESS) {
        rewrite.fail(answer);
        return;
    }
    if (prefetch.on.load(std::memory_order_relaxed)) {
        const record::Guard guard(mutex);
        ResidencyView view;
        if (residency.see(allocation.id, allocation.address, allocation.bytes, view))
            residency.moved(allocation.id, allocation.address, allocation.address + allocation.bytes,
                            BlockState::device);
    }
}

void forget(const observe::Allocation& allocation) noexcept {
    if (allocation.memory != trace::Memory::managed)
        return;
    if (allocation.rewritten && allocation.device < max_devices)
        devices[allocation.device].rewritten_bytes.fetch_sub(allocation.bytes, std::memory_order_relaxed);
    if (prefetch.on.load(std::memory_order_relaxed)) {
        const record::Guard guard(mutex);
        residency.forget(allocation.id);
    }
}

void before_launch(CUstream stream, Entry launch_entry, const observe::Touched& touched) noexcept {
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

void note_unsettled(std::uint64_t allocation, std::uint64_t first, std::uint64_t bytes) noexcept {
    if (!prefetch.on.load(std::memory_order_relaxed))
        return;
    const record::Guard guard(mutex);
    residency.moved(allocation, first, first + bytes, BlockState::unknown);
}

void adjust_memory_info(std::size_t* free, std::size_t* total) noexcept {
    const std::uint64_t smaller = pretended.load(std::memory_order_relaxed);
    const bool rewriting = rewrite.on.load(std::memory_order_relaxed);
    if (smaller == 0 && !rewriting)
        return;
    CUdevice device = 0;
    if (free != nullptr &&
        (real<Entry::cuCtxGetDevice>()(&device) != CUDA_SUCCESS || device < 0 || device >= max_devices))
        return;
    const std::uint64_t card =
        total != nullptr ? *total : devices[device].memory_bytes.load(std::memory_order_relaxed);
    const MemoryInfo seen = pretend({free != nullptr ? *free : 0, card}, smaller,
                                    devices[device].rewritten_bytes.load(std::memory_order_relaxed));
    if (free != nullptr)
        *free = seen.free;
    if (total != nullptr)
        *total = seen.total;
}

} // namespace umadvisor::act
