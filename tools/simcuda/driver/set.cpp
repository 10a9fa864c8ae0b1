// One-dimensional memsets.
#include "tools/simcuda/driver/capture.hpp"
#include "tools/simcuda/driver/stream.hpp"

#include <algorithm>

using namespace simcuda;

namespace {

template <class Element>
CUresult set(CUdeviceptr address, Element value, std::size_t count, CUstream handle, bool per_thread,
             bool synchronous) {
    Driver& state = driver();
    const Guard guard(state.mutex);
    CUstream_st* stream = resolve_stream(handle, per_thread);
    if (!stream) {
        return CUDA_ERROR_INVALID_HANDLE;
    }
    if (synchronous) {
        if (const CUresult refused = refuse_unsafe_call()) {
            return refused;
        }
    }
    bool captured = false;
    if (const CUresult refused = admit_operation(*stream, captured); refused || captured) {
        return refused;
    }
    const std::uint64_t bytes = count * sizeof(Element);
    if (bytes == 0) {
        return CUDA_SUCCESS;
    }
    const Allocation* found = state.find(address);
    if (!found || address % sizeof(Element) || bytes > found->address + found->bytes - address) {
        return CUDA_ERROR_INVALID_VALUE;
    }
    ++state.control.sets.calls;
    state.control.sets.bytes += bytes;
    const Nanoseconds start = earliest_start(*stream, Engine::compute);
    Nanoseconds duration =
        state.prices.kernel_minimum + residency::transfer_time(bytes, state.prices.device_memory);
    if (found->memory == managed) {
        const auto processor = residency::device_processor(static_cast<unsigned>(stream->context->device));
        duration += state.memory->touch(processor, address, bytes, residency::Access::write, start).time;
    }
    std::fill_n(reinterpret_cast<Element*>(state.arena.view(address)), count, value);
    occupy(*stream, Engine::compute, start + duration);
    // Synchronous memset waits only for managed and host memory (API synchronization behavior, "Memset").
    if (synchronous && found->memory != device_memory) {
        state.clock.advance_to(start + duration);
    }
    return CUDA_SUCCESS;
}

} // namespace

#define SIMCUDA_SET(width, type)                                                                               \
    SIMCUDA_STREAM_PAIR(cuMemsetD##width##_v2, _ptds, (CUdeviceptr address, type value, size_t count),         \
                        return set<type>(address, value, count, nullptr, per_thread, true);)                   \
    SIMCUDA_STREAM_PAIR(cuMemsetD##width##Async, _ptsz,                                                        \
                        (CUdeviceptr address, type value, size_t count, CUstream stream),                      \
                        return set<type>(address, value, count, stream, per_thread, false);)

SIMCUDA_SET(8, unsigned char)
SIMCUDA_SET(16, unsigned short)
SIMCUDA_SET(32, unsigned int)
