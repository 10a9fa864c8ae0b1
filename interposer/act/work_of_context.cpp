#include "interposer/act/work_of_context.hpp"

#include "interposer/act/in_context.hpp"
#include "interposer/attach/real.hpp"
#include "interposer/observe/capture.hpp"
#include "interposer/record/mutex.hpp"

#include <algorithm>
#include <iterator>

namespace umadvisor::act {

namespace {

using attach::Entry;
using attach::real;

constexpr std::size_t small_bytes = 512; ///< what the driver gives at least, from a stock of 2 MiB

/// Objects of ours in one context.
struct Objects {
    std::uint16_t context = 0; ///< number; 0: the entry is unused
    CUevent event = nullptr;   ///< was never recorded; a query still reports what the context's work has met
    CUdeviceptr small = 0;     ///< keeps the driver's stock of small blocks
    std::uint64_t bytes = 0;   ///< by which that has made the device's free memory less
    CUdevice device = -1;
    CUcontext handle = nullptr;
};

record::Mutex mutex{record::Lock::actions}; ///< guards the objects
constinit Objects all[16];

Objects find(std::uint16_t context) {
    const record::Guard guard(mutex);
    const auto found = std::ranges::find(all, context, &Objects::context);
    return found != std::end(all) ? *found : Objects{};
}

/// Makes the event of the current context.
CUresult make(Objects& made) {
    CUresult answer = real<Entry::cuCtxGetCurrent>()(&made.handle);
    if (answer == CUDA_SUCCESS)
        answer = real<Entry::cuCtxGetDevice>()(&made.device);
    return answer == CUDA_SUCCESS ? real<Entry::cuEventCreate>()(&made.event, CU_EVENT_DISABLE_TIMING) : answer;
}

bool enter(const Objects& made) {
    const record::Guard guard(mutex);
    const auto unused = std::ranges::find(all, 0, &Objects::context);
    if (unused == std::end(all) || std::ranges::find(all, made.context, &Objects::context) != std::end(all))
        return false;
    *unused = made;
    return true;
}

/// Makes the objects of the current context at the first call.
CUresult objects_of(std::uint16_t context, Objects& objects) {
    objects = find(context);
    if (context == 0 || objects.context == context)
        return context == 0 ? CUDA_ERROR_INVALID_CONTEXT : CUDA_SUCCESS;
    objects.context = context;
    CUresult answer = make(objects);
    if (answer != CUDA_SUCCESS || enter(objects))
        return answer;
    real<Entry::cuEventDestroy_v2>()(objects.event);
    objects = find(context); // another thread has made them
    return objects.context == context ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
}

/// Holds the small block in the context's objects. Another one may be there meanwhile.
void hold(std::uint16_t context, CUdeviceptr small, std::uint64_t bytes) {
    {
        const record::Guard guard(mutex);
        const auto found = std::ranges::find(all, context, &Objects::context);
        if (found != std::end(all) && found->small == 0) {
            found->small = small;
            found->bytes = bytes;
            return;
        }
    }
    real<Entry::cuMemFree_v2>()(small);
}

/// Makes the small block that stays.
CUresult make_small(std::uint16_t context) {
    std::size_t before = 0, after = 0, total = 0;
    CUdeviceptr small = 0;
    CUresult answer = real<Entry::cuMemGetInfo_v2>()(&before, &total);
    if (answer == CUDA_SUCCESS)
        answer = real<Entry::cuMemAlloc_v2>()(&small, small_bytes);
    if (answer != CUDA_SUCCESS)
        return answer;
    const bool known = real<Entry::cuMemGetInfo_v2>()(&after, &total) == CUDA_SUCCESS && after < before;
    hold(context, small, known ? before - after : 0);
    return CUDA_SUCCESS;
}

} // namespace

CUresult error_of_work(std::uint16_t context_number) noexcept {
    const observe::RelaxedCapture relaxed;
    Objects objects;
    const CUresult answer = objects_of(context_number, objects);
    return answer == CUDA_SUCCESS ? real<Entry::cuEventQuery>()(objects.event) : answer;
}

CUresult wait_as_free_does(std::uint16_t context_number) noexcept {
    const observe::RelaxedCapture relaxed;
    Objects objects;
    CUresult answer = objects_of(context_number, objects);
    CUdeviceptr block = 0;
    if (answer == CUDA_SUCCESS && objects.small == 0)
        answer = make_small(context_number);
    if (answer == CUDA_SUCCESS)
        answer = real<Entry::cuMemAlloc_v2>()(&block, small_bytes);
    return answer == CUDA_SUCCESS ? real<Entry::cuMemFree_v2>()(block) : answer;
}

std::uint64_t bytes_for_waits(CUdevice device) noexcept {
    const record::Guard guard(mutex);
    std::uint64_t bytes = 0;
    for (const Objects& each : all)
        if (device < 0 || each.device == device)
            bytes += each.bytes;
    return bytes;
}

bool give_back_for_waits() noexcept {
    bool any = false;
    const observe::RelaxedCapture relaxed;
    for (Objects& each : all) {
        Objects had;
        {
            const record::Guard guard(mutex);
            had = each;
            each.small = 0;
            each.bytes = 0;
        }
        if (had.small == 0)
            continue;
        const InContext inside(had.handle);
        any |= inside && real<Entry::cuMemFree_v2>()(had.small) == CUDA_SUCCESS;
    }
    return any;
}

void forget_work(std::uint16_t context_number) noexcept {
    const record::Guard guard(mutex);
    const auto found = std::ranges::find(all, context_number, &Objects::context);
    if (context_number != 0 && found != std::end(all))
        *found = {};
}

} // namespace umadvisor::act
