#include "interposer/act/capture_slabs.hpp"

#include "interposer/attach/real.hpp"
#include "interposer/observe/capture.hpp"
#include "interposer/observe/contexts.hpp"
#include "interposer/record/mutex.hpp"
#include "policy/copy_batch.hpp"

namespace umadvisor::act {

namespace {

using attach::Entry;
using attach::real;

constexpr std::uint32_t slabs_of_context = 2, most_contexts = 8;

struct OfContext {
    std::uint16_t number; ///< 0: free
    bool busy;            ///< one thread makes or asks for slabs
    bool stream_tried;    ///< whether it was to be made
    CaptureSlab slabs[slabs_of_context];
};

record::Mutex mutex{record::Lock::actions}; ///< guards `number` and `busy`
constinit OfContext contexts[most_contexts]{};

/// The context's entry, or a free one for it, which no other thread uses until it is given back.
OfContext* borrow(std::uint16_t number, bool& fresh) {
    const record::Guard guard(mutex);
    OfContext* free = nullptr;
    for (OfContext& each : contexts) {
        if (each.number == number) {
            if (each.busy)
                return nullptr;
            each.busy = true;
            fresh = false;
            return &each;
        }
        if (each.number == 0 && !each.busy && free == nullptr)
            free = &each;
    }
    if (free != nullptr) {
        free->number = number;
        free->busy = true;
        fresh = true;
    }
    return free;
}

void give_back(OfContext& entry) {
    const record::Guard guard(mutex);
    entry.busy = false;
}

/// Where the driver has no memory or no event, the slab stays unmade, and is not tried again.
void make(CaptureSlab& slab, std::uint16_t number) {
    slab = {};
    void* memory = nullptr;
    if (real<Entry::cuMemHostAlloc>()(&memory, policy::CopyBatch::most_bytes, CU_MEMHOSTALLOC_PORTABLE) !=
        CUDA_SUCCESS)
        return;
    if (real<Entry::cuEventCreate>()(&slab.read, CU_EVENT_DISABLE_TIMING) != CUDA_SUCCESS) {
        real<Entry::cuMemFreeHost>()(memory);
        return;
    }
    slab.memory = static_cast<char*>(memory);
    slab.context = number;
}

/// The same for the stream.
void make_stream(OfContext& entry) {
    CUstream stream = nullptr;
    entry.stream_tried = true;
    if (real<Entry::cuStreamCreate>()(&stream, CU_STREAM_NON_BLOCKING) == CUDA_SUCCESS)
        for (CaptureSlab& slab : entry.slabs)
            slab.ours = stream;
}

bool is_free(CaptureSlab& slab, bool with_stream) {
    if (slab.context == 0 || (with_stream && slab.ours == nullptr))
        return false;
    if (slab.in_use && real<Entry::cuEventQuery>()(slab.read) == CUDA_SUCCESS)
        slab.in_use = false;
    return !slab.in_use;
}

} // namespace

CaptureSlab* free_slab(CUcontext context, bool with_stream) noexcept {
    const std::uint16_t number = observe::context_number(context);
    bool fresh = false;
    OfContext* const entry = number != 0 ? borrow(number, fresh) : nullptr;
    if (entry == nullptr)
        return nullptr;
    CaptureSlab* found = nullptr;
    const observe::RelaxedCapture relaxed;
    if (fresh) {
        entry->stream_tried = false;
        for (CaptureSlab& slab : entry->slabs)
            make(slab, number);
    }
    if (with_stream && !entry->stream_tried)
        make_stream(*entry);
    for (CaptureSlab& slab : entry->slabs)
        if (found == nullptr && is_free(slab, with_stream))
            found = &slab;
    give_back(*entry);
    return found;
}

CaptureSlab* other_slab(CaptureSlab* slab) noexcept {
    for (OfContext& entry : contexts)
        for (CaptureSlab& each : entry.slabs) {
            if (&each == slab || each.context == 0 || slab == nullptr || each.context != slab->context)
                continue;
            if (each.in_use && real<Entry::cuEventSynchronize>()(each.read) != CUDA_SUCCESS)
                return nullptr;
            each.in_use = false;
            return &each;
        }
    return nullptr;
}

void mark_used(CaptureSlab* slab, CUstream stream) noexcept {
    if (slab == nullptr)
        return;
    // If the event cannot be recorded, the slab is not used again.
    if (real<Entry::cuEventRecord>()(slab->read, stream) != CUDA_SUCCESS)
        slab->context = 0;
    slab->in_use = true;
}

void forget_slabs(std::uint16_t context_number) noexcept {
    const record::Guard guard(mutex);
    for (OfContext& each : contexts)
        if (context_number != 0 && each.number == context_number) {
            each.number = 0;
            each.busy = false;
        }
}

} // namespace umadvisor::act
