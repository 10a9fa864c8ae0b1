#include "interposer/act/rewrite.hpp"

#include "interposer/act/devices.hpp"
#include "interposer/act/mode.hpp"
#include "interposer/act/placement.hpp"
#include "interposer/act/prefetch.hpp"
#include "interposer/attach/real.hpp"
#include "interposer/observe/capture.hpp"
#include "interposer/record/quiet.hpp"
#include "interposer/record/recorder.hpp"

#include <cstdlib>

namespace umadvisor::act {

namespace {

using attach::Entry;
using attach::real;

constinit Mode rewrite{"rewrite=all"};

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

} // namespace

void start_rewriting() noexcept {
    rewrite.on.store(true, std::memory_order_release);
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
    add_rewritten(device, allocation.bytes);
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
    note_resident(allocation);
}

void forget_rewritten(const observe::Allocation& allocation) noexcept {
    if (allocation.rewritten && allocation.device < max_devices)
        remove_rewritten(static_cast<CUdevice>(allocation.device), allocation.bytes);
}

} // namespace umadvisor::act
