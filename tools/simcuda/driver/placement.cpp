// Prefetch, advice and what cuMemRangeGetAttribute tells about them.
#include "tools/simcuda/driver/capture.hpp"
#include "tools/simcuda/driver/driver.hpp"
#include "tools/simcuda/driver/stream.hpp"

using namespace simcuda;

namespace {

struct Location {
    CUresult error;
    residency::Processor processor;
};

Location locate(CUmemLocation location) {
    switch (location.type) {
    case CU_MEM_LOCATION_TYPE_DEVICE:
        if (location.id < 0 || location.id >= driver().config.devices) {
            return {CUDA_ERROR_INVALID_DEVICE, 0};
        }
        return {driver().config.concurrent_managed_access ? CUDA_SUCCESS : CUDA_ERROR_INVALID_DEVICE,
                residency::device_processor(static_cast<unsigned>(location.id))};
    case CU_MEM_LOCATION_TYPE_HOST:
    case CU_MEM_LOCATION_TYPE_HOST_NUMA:
    case CU_MEM_LOCATION_TYPE_HOST_NUMA_CURRENT:
        return {CUDA_SUCCESS, residency::host_processor};
    default:
        return {CUDA_ERROR_INVALID_VALUE, 0};
    }
}

CUmemLocation location_of(CUdevice device) {
    CUmemLocation location{};
    location.type = device == CU_DEVICE_CPU ? CU_MEM_LOCATION_TYPE_HOST : CU_MEM_LOCATION_TYPE_DEVICE;
    location.id = device == CU_DEVICE_CPU ? 0 : device;
    return location;
}

bool is_managed_range(std::uint64_t address, std::uint64_t bytes) {
    const Allocation* found = driver().find(address);
    return bytes > 0 && found && found->memory == managed && bytes <= found->address + found->bytes - address;
}

CUresult prefetch(CUdeviceptr address, std::size_t bytes, CUmemLocation location, unsigned flags,
                  CUstream handle, bool per_thread) {
    Driver& state = driver();
    const Guard guard(state.mutex);
    CUstream_st* stream = resolve_stream(handle, per_thread);
    if (!stream) {
        return CUDA_ERROR_INVALID_HANDLE;
    }
    const bool is_managed = is_managed_range(address, bytes);
    if (flags != 0 || bytes == 0 ||
        (!is_managed && (!state.config.reaches_pageable() || state.find(address)))) {
        return CUDA_ERROR_INVALID_VALUE;
    }
    if (const CUresult refused = refuse_stream_wait(*stream)) {
        return refused;
    }
    const auto [error, target] = locate(location);
    if (error) {
        return error;
    }
    if (!is_managed || state.config.is_one_pool()) {
        // Where pageable memory is does not count here: kernels reach it in any case.
        state.clock.advance(state.prices.prefetch_call);
        return CUDA_SUCCESS;
    }
    const bool to_host = target == residency::host_processor;
    const Engine engine = to_host ? Engine::to_host : Engine::to_device;
    const Nanoseconds start = earliest_start(*stream, engine);
    const residency::Cost cost = state.memory->prefetch(target, address, bytes, start);
    occupy(*stream, engine, start + cost.time);
    // The call itself walks the blocks; what moves, moves later.
    state.clock.advance(state.prices.prefetch_call + (bytes + residency::block_bytes - 1) /
                                                         residency::block_bytes * state.prices.prefetch_block);
    return CUDA_SUCCESS;
}

CUresult discard(CUdeviceptr address, std::size_t bytes, CUstream handle, bool per_thread) {
    Driver& state = driver();
    const Guard guard(state.mutex);
    CUstream_st* stream = resolve_stream(handle, per_thread);
    if (!stream) {
        return CUDA_ERROR_INVALID_HANDLE;
    }
    if (!is_managed_range(address, bytes)) {
        return CUDA_ERROR_INVALID_VALUE;
    }
    if (const CUresult refused = refuse_stream_wait(*stream)) {
        return refused;
    }
    state.memory->discard(address, bytes);
    // What kernels have touched is to be looked at again: it is nowhere now.
    state.epoch.fetch_add(1);
    occupy(*stream, Engine::none, earliest_start(*stream, Engine::none));
    state.clock.advance(state.prices.prefetch_call);
    return CUDA_SUCCESS;
}

struct Batch {
    const CUdeviceptr* addresses;
    const std::size_t* sizes;
    std::size_t count;
    unsigned long long flags;
    CUstream stream;
    bool per_thread;
};

/// cuda.h, cuMemPrefetchBatchAsync: "Must not be legacy NULL stream", flags "must be zero".
bool good(const Batch& batch) {
    const bool legacy = batch.stream == CU_STREAM_LEGACY || (batch.stream == nullptr && !batch.per_thread);
    return batch.addresses && batch.sizes && batch.count > 0 && batch.flags == 0 && !legacy;
}

CUresult discard_all(const Batch& batch) {
    if (!good(batch)) {
        return CUDA_ERROR_INVALID_VALUE;
    }
    for (std::size_t i = 0; i < batch.count; ++i) {
        if (const CUresult failed =
                discard(batch.addresses[i], batch.sizes[i], batch.stream, batch.per_thread)) {
            return failed;
        }
    }
    return CUDA_SUCCESS;
}

/// `first[k]`: the first range that location k holds for; begins with 0 and ascends.
CUresult prefetch_all(const Batch& batch, const CUmemLocation* locations, const std::size_t* first,
                      std::size_t location_count) {
    if (!good(batch) || !locations || !first || location_count == 0 || location_count > batch.count ||
        first[0] != 0) {
        return CUDA_ERROR_INVALID_VALUE;
    }
    for (std::size_t k = 1; k < location_count; ++k) {
        if (first[k] <= first[k - 1] || first[k] >= batch.count) {
            return CUDA_ERROR_INVALID_VALUE;
        }
    }
    std::size_t place = 0;
    for (std::size_t i = 0; i < batch.count; ++i) {
        place += place + 1 < location_count && first[place + 1] == i;
        if (const CUresult failed = prefetch(batch.addresses[i], batch.sizes[i], locations[place], 0,
                                             batch.stream, batch.per_thread)) {
            return failed;
        }
    }
    return CUDA_SUCCESS;
}

CUresult advise(CUdeviceptr address, std::size_t bytes, CUmem_advise advice, CUmemLocation location) {
    Driver& state = driver();
    const Guard guard(state.mutex);
    if (!is_managed_range(address, bytes)) {
        return CUDA_ERROR_INVALID_VALUE;
    }
    if (state.find(address)->pool != nullptr) {
        return CUDA_ERROR_NOT_SUPPORTED; // so the driver, release 580, whatever the advice
    }
    const bool needs_location = advice == CU_MEM_ADVISE_SET_PREFERRED_LOCATION ||
                                advice == CU_MEM_ADVISE_SET_ACCESSED_BY ||
                                advice == CU_MEM_ADVISE_UNSET_ACCESSED_BY;
    const auto [error, processor] = needs_location ? locate(location) : Location{CUDA_SUCCESS, 0};
    if (error) {
        return error;
    }
    if (advice < CU_MEM_ADVISE_SET_READ_MOSTLY || advice > CU_MEM_ADVISE_UNSET_ACCESSED_BY) {
        return CUDA_ERROR_INVALID_VALUE;
    }
    state.memory->advise(static_cast<residency::Advice>(advice - CU_MEM_ADVISE_SET_READ_MOSTLY), processor,
                         address, bytes, state.clock.now());
    state.epoch.fetch_add(1);
    return CUDA_SUCCESS;
}

/// The ordinal all pages of the range agree on in `masks`, or CU_DEVICE_INVALID.
int agreed_location(const std::array<residency::PageMask, residency::max_processors> residency::Block::*masks,
                    std::uint64_t address, std::uint64_t bytes) {
    for (residency::Processor who = 0; who < residency::max_processors; ++who) {
        bool all = true;
        for (std::uint64_t at = address; all && at < address + bytes; at += residency::page_bytes) {
            const residency::Block* block = driver().memory->find_block(at);
            all = block && (block->*masks)[who][residency::page_in_block(at)];
        }
        if (all) {
            return who == residency::host_processor ? CU_DEVICE_CPU : static_cast<int>(who) - 1;
        }
    }
    return CU_DEVICE_INVALID;
}

} // namespace

SIMCUDA_STREAM_PAIR(cuMemPrefetchAsync, _ptsz,
                    (CUdeviceptr address, size_t bytes, CUdevice device, CUstream stream),
                    return prefetch(address, bytes, location_of(device), 0, stream, per_thread);)

SIMCUDA_STREAM_PAIR(cuMemPrefetchAsync_v2, _ptsz,
                    (CUdeviceptr address, size_t bytes, CUmemLocation location, unsigned flags,
                     CUstream stream),
                    return prefetch(address, bytes, location, flags, stream, per_thread);)

SIMCUDA_STREAM_PAIR(cuMemPrefetchBatchAsync, _ptsz,
                    (CUdeviceptr * addresses, size_t* sizes, size_t count, CUmemLocation* locations,
                     size_t* first, size_t location_count, unsigned long long flags, CUstream stream),
                    return prefetch_all({addresses, sizes, count, flags, stream, per_thread}, locations, first,
                                        location_count);)

SIMCUDA_STREAM_PAIR(cuMemDiscardBatchAsync, _ptsz,
                    (CUdeviceptr * addresses, size_t* sizes, size_t count, unsigned long long flags,
                     CUstream stream),
                    return discard_all({addresses, sizes, count, flags, stream, per_thread});)

SIMCUDA_STREAM_PAIR(cuMemDiscardAndPrefetchBatchAsync, _ptsz,
                    (CUdeviceptr * addresses, size_t* sizes, size_t count, CUmemLocation* locations,
                     size_t* first, size_t location_count, unsigned long long flags, CUstream stream),
                    {
                        const Batch batch{addresses, sizes, count, flags, stream, per_thread};
                        const CUresult failed = discard_all(batch);
                        return failed ? failed : prefetch_all(batch, locations, first, location_count);
                    })

extern "C" CUresult CUDAAPI cuMemAdvise(CUdeviceptr address, size_t bytes, CUmem_advise advice,
                                        CUdevice device) {
    SIMCUDA_ENTER(Entry::cuMemAdvise)
    return advise(address, bytes, advice, location_of(device));
}

extern "C" CUresult CUDAAPI cuMemAdvise_v2(CUdeviceptr address, size_t bytes, CUmem_advise advice,
                                           CUmemLocation location) {
    SIMCUDA_ENTER(Entry::cuMemAdvise_v2)
    return advise(address, bytes, advice, location);
}

extern "C" CUresult CUDAAPI cuMemRangeGetAttribute(void* data, size_t data_bytes,
                                                   CUmem_range_attribute attribute, CUdeviceptr address,
                                                   size_t bytes) {
    SIMCUDA_ENTER(Entry::cuMemRangeGetAttribute)
    const Guard guard(driver().mutex);
    if (!is_managed_range(address, bytes) || data_bytes < 4) {
        return CUDA_ERROR_INVALID_VALUE;
    }
    int* answer = static_cast<int*>(data);
    switch (attribute) {
    case CU_MEM_RANGE_ATTRIBUTE_PREFERRED_LOCATION:
        *answer = agreed_location(&residency::Block::preferred, address, bytes);
        return CUDA_SUCCESS;
    case CU_MEM_RANGE_ATTRIBUTE_LAST_PREFETCH_LOCATION:
        *answer = agreed_location(&residency::Block::resident, address, bytes);
        return CUDA_SUCCESS;
    case CU_MEM_RANGE_ATTRIBUTE_READ_MOSTLY: {
        bool all = true;
        for (std::uint64_t at = address; all && at < address + bytes; at += residency::page_bytes) {
            all = driver().memory->find_block(at)->read_mostly[residency::page_in_block(at)];
        }
        *answer = all ? 1 : 0;
        return CUDA_SUCCESS;
    }
    default:
        return CUDA_ERROR_NOT_SUPPORTED;
    }
}
