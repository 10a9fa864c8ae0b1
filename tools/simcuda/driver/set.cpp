// Memsets, in one dimension and of rows.
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
    const bool on_host = memory.memory == pinned || memory.memory == registered;
    Nanoseconds duration =
        state.prices.kernel_minimum +
        residency::transfer_time(bytes, on_host ? state.prices.device_to_pinned : state.prices.device_memory);
    for (std::size_t row = 0; row < height; ++row) {
        const CUdeviceptr at = address + row * pitch;
        if (memory.memory == managed && !state.config.is_one_pool()) {
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

/// What is to be set; `pitch` in bytes, the rest in elements.
template <class Element>
struct Rows {
    CUdeviceptr address;
    Element value;
    std::size_t width, height, pitch;
};

template <class Element>
CUresult set(const Rows<Element>& rows, CUstream handle, bool per_thread, bool synchronous) {
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
    if (const CUresult refused = admit_operation(*stream, captured)) {
        return refused;
    }
    if (rows.width == 0 || rows.height == 0) {
        return CUDA_SUCCESS;
    }
    const std::uint64_t bytes = (rows.height - 1) * rows.pitch + rows.width * sizeof(Element);
    const Allocation* found = state.find(rows.address);
    if (!found || rows.address % sizeof(Element) || rows.pitch % sizeof(Element) ||
        bytes > found->address + found->bytes - rows.address ||
        (rows.height > 1 && rows.pitch < rows.width * sizeof(Element))) {
        return CUDA_ERROR_INVALID_VALUE;
    }
    if (captured) {
        return capture_work(
            *stream, SetWork{{rows.address, rows.pitch, rows.value, sizeof(Element), rows.width, rows.height}});
    }
    const Nanoseconds end =
        fill(*stream, *found, rows.address, rows.value, rows.width, rows.height, rows.pitch);
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

#define SIMCUDA_SET(bits, type)                                                                                \
    SIMCUDA_STREAM_PAIR(cuMemsetD##bits##_v2, _ptds, (CUdeviceptr address, type value, size_t count),          \
                        return set<type>({address, value, count, 1, 0}, nullptr, per_thread, true);)           \
    SIMCUDA_STREAM_PAIR(cuMemsetD##bits##Async, _ptsz,                                                         \
                        (CUdeviceptr address, type value, size_t count, CUstream stream),                      \
                        return set<type>({address, value, count, 1, 0}, stream, per_thread, false);)           \
    SIMCUDA_STREAM_PAIR(cuMemsetD2D##bits##_v2, _ptds,                                                         \
                        (CUdeviceptr address, size_t pitch, type value, size_t width, size_t height),          \
                        return set<type>({address, value, width, height, pitch}, nullptr, per_thread, true);)  \
    SIMCUDA_STREAM_PAIR(                                                                                       \
        cuMemsetD2D##bits##Async, _ptsz,                                                                       \
        (CUdeviceptr address, size_t pitch, type value, size_t width, size_t height, CUstream stream),         \
        return set<type>({address, value, width, height, pitch}, stream, per_thread, false);)

SIMCUDA_SET(8, unsigned char)
SIMCUDA_SET(16, unsigned short)
SIMCUDA_SET(32, unsigned int)
