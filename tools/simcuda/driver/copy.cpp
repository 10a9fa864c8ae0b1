// Copies, in one dimension and of rows.
#include "tools/simcuda/driver/copy.hpp"
#include "tools/simcuda/driver/capture.hpp"
#include "tools/simcuda/driver/graph.hpp"
#include "tools/simcuda/driver/stream.hpp"
#include "tools/simcuda/driver/work.hpp"

#include <algorithm>
#include <cstring>

using namespace simcuda;

namespace {

/// Of the link's rate, what copies between a device and host memory on another node reach. An assumption: the
/// prices were measured where all memory is near.
constexpr double far_share = 0.7;

/// One end of a copy.
struct End {
    std::uint64_t address;
    MemoryClass memory;
    bool inside; ///< the whole range lies in one allocation, or in memory CUDA does not know
    int device;
    int host_node; ///< -1: any
    bool write_combined = false;
};

End classify_end(std::uint64_t address, std::uint64_t bytes) {
    const Allocation* found = driver().find(address);
    if (!found) {
        return {address, pageable, address != 0 && !driver().arena.holds(address), 0, -1};
    }
    return {address,
            found->memory,
            bytes <= found->address + found->bytes - address,
            found->device,
            found->host_node,
            (found->flags & CU_MEMHOSTALLOC_WRITECOMBINED) != 0 && found->memory == pinned};
}

bool on_device(const End& end) {
    return end.memory == device_memory || end.memory == managed || end.memory == array_memory;
}

CopyDirection direction_of(const End& target, const End& source) {
    return on_device(target) ? (on_device(source) ? device_to_device : host_to_device)
                             : (on_device(source) ? device_to_host : host_to_host);
}

double link_share(const End& device, const End& host) {
    return host.host_node >= 0 && host.host_node != driver().config.node_of(device.device) ? far_share : 1;
}

/// Between the memory of two devices. Managed memory is brought to the device that copies.
bool leads_to_peer(const End& target, const End& source) {
    const auto stays = [](const End& end) { return end.memory == device_memory || end.memory == array_memory; };
    return stays(target) && stays(source) && target.device != source.device;
}

double copy_speed(CopyDirection direction, const End& target, const End& source) {
    const residency::Prices& prices = driver().prices;
    switch (direction) {
    case host_to_device:
        return source.memory == pageable ? prices.pageable_to_device
                                         : prices.pinned_to_device * link_share(target, source);
    case device_to_host:
        return target.memory == pageable ? prices.device_to_pageable
                                         : prices.device_to_pinned * link_share(source, target);
    case device_to_device:
        return !leads_to_peer(target, source)              ? prices.device_to_device
               : peer_access(source.device, target.device) ? prices.peer
                                                           : prices.peer_through_host;
    default:
        return source.write_combined ? prices.write_combined_read : prices.host_to_host;
    }
}

Engine copy_engine(CopyDirection direction) {
    switch (direction) {
    case host_to_device:
        return Engine::to_device;
    case device_to_host:
        return Engine::to_host;
    case device_to_device:
        return Engine::compute;
    default:
        return Engine::none;
    }
}

/// Moves the bytes and counts the copy; answers when it is done.
Nanoseconds move(CUstream_st& stream, CopyDirection direction, const End& target, const End& source,
                 const CopyShape& shape) {
    Driver& state = driver();
    const std::uint64_t bytes = shape.bytes();
    CopyTotal& total = state.control.copies[direction][source.memory][target.memory];
    ++total.calls;
    total.bytes += bytes;

    const Engine engine = copy_engine(direction);
    const Nanoseconds start = earliest_start(stream, engine);
    const auto rows = static_cast<double>(shape.height * shape.depth);
    Nanoseconds duration = state.prices.small_copy +
                           std::max(residency::transfer_time(bytes, copy_speed(direction, target, source)),
                                    static_cast<Nanoseconds>(rows * state.prices.copied_row_ns));
    const auto touch_managed = [&](const End& end, std::uint64_t address, residency::Access access) {
        if (end.memory == managed && !state.config.is_one_pool()) {
            const auto processor = residency::device_processor(static_cast<unsigned>(stream.context->device));
            duration += state.memory->touch(processor, address, shape.width, access, start).time;
        }
    };
    for (std::uint64_t slice = 0; slice < shape.depth; ++slice) {
        for (std::uint64_t row = 0; row < shape.height; ++row) {
            const std::uint64_t to = target.address + slice * shape.target_slice + row * shape.target_pitch;
            const std::uint64_t from = source.address + slice * shape.source_slice + row * shape.source_pitch;
            // The copy engine reaches managed memory as the device does.
            touch_managed(source, from, residency::Access::read);
            touch_managed(target, to, residency::Access::write);
            std::memmove(state.arena.view(to), state.arena.view(from), shape.width);
        }
    }
    occupy(stream, engine, start + duration);
    return start + duration;
}

std::uint64_t span(const CopyShape& shape, std::uint64_t pitch, std::uint64_t slice) {
    return (shape.depth - 1) * slice + (shape.height - 1) * pitch + shape.width;
}

CopyShape flat(std::uint64_t bytes) {
    return {bytes, 1, 1, 0, 0, 0, 0};
}

std::uint64_t number(const void* address) {
    return reinterpret_cast<std::uint64_t>(address);
}

} // namespace

CUresult simcuda::copy(std::uint64_t target_address, std::uint64_t source_address, const CopyShape& shape,
                       CUstream handle, bool per_thread, CopyForm form, CopyDirection want,
                       const CUDA_MEMCPY3D* node) {
    Driver& state = driver();
    const Guard guard(state.mutex);
    CUstream_st* stream = resolve_stream(handle, per_thread);
    if (!stream) {
        return CUDA_ERROR_INVALID_HANDLE;
    }
    if (form == CopyForm::synchronous) {
        if (const CUresult refused = refuse_unsafe_call()) {
            return refused;
        }
    }
    bool captured = false;
    if (const CUresult refused = admit_operation(*stream, captured)) {
        return refused;
    }
    if (shape.bytes() == 0) {
        return CUDA_SUCCESS;
    }
    const End target = classify_end(target_address, span(shape, shape.target_pitch, shape.target_slice));
    const End source = classify_end(source_address, span(shape, shape.source_pitch, shape.source_slice));
    const bool target_must_be_known = want == host_to_device || want == device_to_device;
    const bool source_must_be_known = want == device_to_host || want == device_to_device;
    if (!target.inside || !source.inside || (target_must_be_known && target.memory == pageable) ||
        (source_must_be_known && source.memory == pageable)) {
        return CUDA_ERROR_INVALID_VALUE;
    }
    if (captured) {
        return capture_work(*stream,
                            CopyWork{node ? *node : flat_copy(target_address, source_address, shape.bytes())});
    }
    const CopyDirection direction = want == copy_directions ? direction_of(target, source) : want;
    const Nanoseconds end = move(*stream, direction, target, source, shape);
    // An asynchronous copy of pageable memory is asynchronous in name only: the driver stages it before it
    // returns. Device to device the host never waits.
    const bool staged =
        (target.memory == pageable || source.memory == pageable) && direction != device_to_device;
    if (staged || (form == CopyForm::synchronous && direction != device_to_device)) {
        state.clock.advance_to(end);
    } else {
        state.clock.advance(state.prices.async_copy_call);
    }
    return stream->context->sticky;
}

CUresult simcuda::run_copy(CUstream_st& stream, std::uint64_t target_address, std::uint64_t source_address,
                           const CopyShape& shape) {
    if (shape.bytes() == 0) {
        return CUDA_SUCCESS;
    }
    const End target = classify_end(target_address, span(shape, shape.target_pitch, shape.target_slice));
    const End source = classify_end(source_address, span(shape, shape.source_pitch, shape.source_slice));
    if (!target.inside || !source.inside) {
        return CUDA_ERROR_INVALID_VALUE;
    }
    move(stream, direction_of(target, source), target, source, shape);
    return CUDA_SUCCESS;
}

SIMCUDA_STREAM_PAIR(cuMemcpy, _ptds, (CUdeviceptr target, CUdeviceptr source, size_t bytes),
                    return copy(target, source, flat(bytes), nullptr, per_thread, CopyForm::synchronous,
                                copy_directions);)
SIMCUDA_STREAM_PAIR(cuMemcpyHtoD_v2, _ptds, (CUdeviceptr target, const void* source, size_t bytes),
                    return copy(target, number(source), flat(bytes), nullptr, per_thread, CopyForm::synchronous,
                                host_to_device);)
SIMCUDA_STREAM_PAIR(cuMemcpyDtoH_v2, _ptds, (void* target, CUdeviceptr source, size_t bytes),
                    return copy(number(target), source, flat(bytes), nullptr, per_thread, CopyForm::synchronous,
                                device_to_host);)
SIMCUDA_STREAM_PAIR(cuMemcpyDtoD_v2, _ptds, (CUdeviceptr target, CUdeviceptr source, size_t bytes),
                    return copy(target, source, flat(bytes), nullptr, per_thread, CopyForm::synchronous,
                                device_to_device);)
SIMCUDA_STREAM_PAIR(cuMemcpyPeer, _ptds,
                    (CUdeviceptr target, CUcontext, CUdeviceptr source, CUcontext, size_t bytes),
                    return copy(target, source, flat(bytes), nullptr, per_thread, CopyForm::synchronous,
                                device_to_device);)
SIMCUDA_STREAM_PAIR(cuMemcpyAsync, _ptsz,
                    (CUdeviceptr target, CUdeviceptr source, size_t bytes, CUstream stream),
                    return copy(target, source, flat(bytes), stream, per_thread, CopyForm::asynchronous,
                                copy_directions);)
SIMCUDA_STREAM_PAIR(cuMemcpyHtoDAsync_v2, _ptsz,
                    (CUdeviceptr target, const void* source, size_t bytes, CUstream stream),
                    return copy(target, number(source), flat(bytes), stream, per_thread, CopyForm::asynchronous,
                                host_to_device);)
SIMCUDA_STREAM_PAIR(cuMemcpyDtoHAsync_v2, _ptsz,
                    (void* target, CUdeviceptr source, size_t bytes, CUstream stream),
                    return copy(number(target), source, flat(bytes), stream, per_thread, CopyForm::asynchronous,
                                device_to_host);)
SIMCUDA_STREAM_PAIR(cuMemcpyDtoDAsync_v2, _ptsz,
                    (CUdeviceptr target, CUdeviceptr source, size_t bytes, CUstream stream),
                    return copy(target, source, flat(bytes), stream, per_thread, CopyForm::asynchronous,
                                device_to_device);)
SIMCUDA_STREAM_PAIR(cuMemcpyPeerAsync, _ptsz,
                    (CUdeviceptr target, CUcontext, CUdeviceptr source, CUcontext, size_t bytes,
                     CUstream stream),
                    return copy(target, source, flat(bytes), stream, per_thread, CopyForm::asynchronous,
                                device_to_device);)
