// One-dimensional memsets.
#include "tools/simcuda/driver/capture.hpp"
#include "tools/simcuda/driver/graph.hpp"
#include "tools/simcuda/driver/stream.hpp"
#include "tools/simcuda/driver/work.hpp"

#include <algorithm>

using namespace simcuda;

namespace {

/// Rows of `width` elements. Answers when it is done.
template <class Element>
Nanoseconds fill(CUstream_st& stream, const Allocation& memory, CUdeviceptr address, Element value,
                 std::size_t width, std::size_t height, std::size_t pitch) {
    Driver& state = driver();
    const std::uint64_t bytes = width * height * sizeof(Element);
    ++state.control.sets.calls;
    state.control.sets.bytes += bytes;
    const Nanoseconds start = earliest_start(stream, Engine::compute);
    Nanoseconds duration =
        state.prices.kernel_minimum + residency::transfer_time(bytes, state.prices.device_memory);
    for (std::size_t row = 0; row < height; ++row) {
        const CUdeviceptr at = address + row * pitch;
        if (memory.memory == managed) {
            const auto processor = residency::device_processor(static_cast<unsigned>(stream.context->device));
            duration +=
                state.memory->touch(processor, at, width * sizeof(Element), residency::Access::write, start)
                    .time;
        }
        std::fill_n(reinterpret_cast<Element*>(state.arena.view(at)), width, value);
    }
    occupy(stream, Engine::compute, start + duration);
    return start + duration;
}

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
    if (const CUresult refused = admit_operation(*stream, captured); refused) {
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
    if (captured) {
        return capture_work(*stream, SetWork{{address, 0, value, sizeof(Element), count, 1}});
    }
    const Nanoseconds end = fill(*stream, *found, address, value, count, 1, 0);
    // Synchronous memset waits only for managed and host memory (API synchronization behavior, "Memset").
    if (synchronous && found->memory != device_memory) {
        state.clock.advance_to(end);
    }
    return CUDA_SUCCESS;
}

template <class Element>
CUresult set_node(CUstream_st& stream, const CUDA_MEMSET_NODE_PARAMS& given) {
    const std::uint64_t bytes = (given.height - 1) * given.pitch + given.width * sizeof(Element);
    const Allocation* found = driver().find(given.dst);
    if (!found || bytes > found->address + found->bytes - given.dst) {
        return CUDA_ERROR_INVALID_VALUE;
    }
    fill(stream, *found, given.dst, static_cast<Element>(given.value), given.width, given.height, given.pitch);
    return CUDA_SUCCESS;
}

} // namespace

CUresult simcuda::run_set(CUstream_st& stream, const CUDA_MEMSET_NODE_PARAMS& given) {
    if (given.width == 0 || given.height == 0) {
        return CUDA_SUCCESS;
    }
    switch (given.elementSize) {
    case 1:
        return set_node<unsigned char>(stream, given);
    case 2:
        return set_node<unsigned short>(stream, given);
    case 4:
        return set_node<unsigned int>(stream, given);
    default:
        return CUDA_ERROR_INVALID_VALUE;
    }
}

#define SIMCUDA_SET(width, type)                                                                               \
    SIMCUDA_STREAM_PAIR(cuMemsetD##width##_v2, _ptds, (CUdeviceptr address, type value, size_t count),         \
                        return set<type>(address, value, count, nullptr, per_thread, true);)                   \
    SIMCUDA_STREAM_PAIR(cuMemsetD##width##Async, _ptsz,                                                        \
                        (CUdeviceptr address, type value, size_t count, CUstream stream),                      \
                        return set<type>(address, value, count, stream, per_thread, false);)

SIMCUDA_SET(8, unsigned char)
SIMCUDA_SET(16, unsigned short)
SIMCUDA_SET(32, unsigned int)
