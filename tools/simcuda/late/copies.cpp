// Copies of the late driver: which wait, which are waited for, and which come at once.
#include "tools/simcuda/late/entry.hpp"

#include <algorithm>
#include <cstring>
#include <iterator>
#include <type_traits>

namespace simcuda::late {

namespace {

CUdeviceptr address_of(const void* pointer) {
    return reinterpret_cast<CUdeviceptr>(pointer);
}
CUdeviceptr address_of(CUdeviceptr pointer) {
    return pointer;
}

template <class Pointer>
Pointer pointer_to(void* memory) {
    if constexpr (std::is_pointer_v<Pointer>)
        return memory;
    else
        return address_of(memory);
}

// What release 580 does against the order of the default stream (docs/driver.md, "What the driver keeps
// of the default stream's order").

/// Behind nothing of its own stream, such a copy may read page-locked memory when it is called.
constexpr std::size_t early_end = 32768;

bool reads_at_once(End source, std::size_t bytes, CUstream stream, bool per_thread) {
    return source == End::pinned && bytes < early_end && is_done(stream_of(stream, per_thread).last) &&
           chance(2);
}

/// A copy from there to the device does not wait for the legacy default stream.
bool prefers_host(CUdeviceptr address) {
    static const auto ask = entry("cuMemRangeGetAttribute", &cuMemRangeGetAttribute);
    int location = CU_DEVICE_INVALID;
    return ask(&location, sizeof location, CU_MEM_RANGE_ATTRIBUTE_PREFERRED_LOCATION, address, 1) ==
               CUDA_SUCCESS &&
           location == CU_DEVICE_CPU;
}

template <class Call>
CUresult later_from(CUdeviceptr source, const char* what, CUstream stream, bool per_thread, Call call) {
    if (!prefers_host(source) || stream_of(stream, per_thread).legacy)
        return later(what, stream, per_thread, call);
    submit_beside_legacy(stream_of(stream, per_thread), in_context([what, call] { must(call(), what); }));
    return CUDA_SUCCESS;
}

template <class Real, class To, class From>
CUresult copy(const char* what, bool asynchronous, bool per_thread, CUstream stream, To to, From from,
              std::size_t bytes, Real real) {
    if (address_of(to) == 0 || address_of(from) == 0 || bytes == 0 || captures(stream, per_thread))
        return real(to, from);
    const End target = end_of(address_of(to)), source = end_of(address_of(from));
    const auto call = [=] { return real(to, from); };
    // Of one that names a direction: the wrong one.
    if constexpr (std::is_pointer_v<To> != std::is_pointer_v<From>)
        if ((std::is_pointer_v<To> ? source : target) == End::pageable)
            return call();
    if (source != End::device && target != End::device)
        return call(); // the host copies, and waits for nobody
    if (target == End::pageable || (!asynchronous && (target == End::pinned || source == End::pinned)))
        return now(what, stream, per_thread, call);
    if (source == End::pageable || reads_at_once(source, bytes, stream, per_thread)) {
        if (!asynchronous) // earlier work comes first, and may write the source; the transfer may be later
            force(so_far(stream_of(stream, per_thread)));
        const std::shared_ptr<char[]> held(new char[bytes]);
        std::memcpy(held.get(), reinterpret_cast<const void*>(address_of(from)), bytes);
        return later(what, stream, per_thread, [=] { return real(to, pointer_to<From>(held.get())); });
    }
    return target == End::device ? later_from(address_of(from), what, stream, per_thread, call)
                                 : later(what, stream, per_thread, call);
}

CUdeviceptr address_in(CUmemorytype type, const void* host, CUdeviceptr device) {
    return type == CU_MEMORYTYPE_HOST ? address_of(host) : device;
}

/// Rows and boxes: those with an end in pageable memory are waited for, which they may be.
template <class Box, class Call>
CUresult copy_box(const char* what, bool asynchronous, bool per_thread, CUstream stream, const Box* given,
                  Call call) {
    if (given == nullptr || captures(stream, per_thread))
        return call(given);
    const Box box = *given;
    const CUdeviceptr from = address_in(box.srcMemoryType, box.srcHost, box.srcDevice);
    const End target = end_of(address_in(box.dstMemoryType, box.dstHost, box.dstDevice)), source = end_of(from);
    const auto held = [=] { return call(&box); };
    if (source != End::device && target != End::device)
        return held();
    const bool waits = target == End::pageable || source == End::pageable ||
                       (!asynchronous && (target == End::pinned || source == End::pinned));
    if (waits)
        return now(what, stream, per_thread, held);
    return target == End::device ? later_from(from, what, stream, per_thread, held)
                                 : later(what, stream, per_thread, held);
}

/// Copies of a batch have no order among each other: the last comes first. Where one has an end in pageable
/// memory all are waited for, which they may be.
template <class Call>
CUresult copy_batch(bool per_thread, CUstream stream, const CUdeviceptr* to, const CUdeviceptr* from,
                    const std::size_t* bytes, std::size_t count, bool alike, Call call) {
    if (!to || !from || !bytes || !alike || captures(stream, per_thread) ||
        stream_of(stream, per_thread).legacy)
        return call(const_cast<CUdeviceptr*>(to), const_cast<CUdeviceptr*>(from),
                    const_cast<std::size_t*>(bytes));
    const auto backwards = [count](const auto* values) {
        return std::vector(std::make_reverse_iterator(values + count), std::make_reverse_iterator(values));
    };
    const auto targets = backwards(to), sources = backwards(from);
    const auto lengths = backwards(bytes);
    const auto is_pageable = [](CUdeviceptr address) { return end_of(address) == End::pageable; };
    const bool waits = std::any_of(targets.begin(), targets.end(), is_pageable) ||
                       std::any_of(sources.begin(), sources.end(), is_pageable);
    const auto held = [=] { // a call may not change what is kept for it
        auto own_targets = targets, own_sources = sources;
        auto own_lengths = lengths;
        return call(own_targets.data(), own_sources.data(), own_lengths.data());
    };
    return waits ? now("cuMemcpyBatchAsync", stream, per_thread, held)
                 : later("cuMemcpyBatchAsync", stream, per_thread, held);
}

} // namespace

// The attributes of copies after the first stay the program's: those of one kind for all are kept.
LATE_PAIR(cuMemcpyBatchAsync_v2, _ptsz,
          (CUdeviceptr * to, CUdeviceptr* from, std::size_t* bytes, std::size_t count,
           CUmemcpyAttributes* attributes, std::size_t* first, std::size_t kinds, CUstream stream),
          {
              const bool alike = kinds == 1 && attributes && first && *first == 0;
              const CUmemcpyAttributes all = alike ? *attributes : CUmemcpyAttributes{};
              return copy_batch(per_thread, stream, to, from, bytes, count, alike,
                                [=](CUdeviceptr* a, CUdeviceptr* b, std::size_t* lengths) {
                                    CUmemcpyAttributes same = all;
                                    std::size_t zero = 0;
                                    return alike ? real(a, b, lengths, count, &same, &zero, 1, stream)
                                                 : real(a, b, lengths, count, attributes, first, kinds, stream);
                                });
          })

#define COPY(symbol, suffix, To, From)                                                                         \
    LATE_PAIR(symbol, suffix, (To to, From from, std::size_t bytes),                                           \
              return copy(#symbol, false, per_thread, nullptr, to, from, bytes,                                \
                          [bytes](To a, From b) { return real(a, b, bytes); });)
#define COPY_ASYNC(symbol, suffix, To, From)                                                                   \
    LATE_PAIR(symbol, suffix, (To to, From from, std::size_t bytes, CUstream stream),                          \
              return copy(#symbol, true, per_thread, stream, to, from, bytes,                                  \
                          [bytes, stream](To a, From b) { return real(a, b, bytes, stream); });)

COPY(cuMemcpy, _ptds, CUdeviceptr, CUdeviceptr)
COPY(cuMemcpyHtoD_v2, _ptds, CUdeviceptr, const void*)
COPY(cuMemcpyDtoH_v2, _ptds, void*, CUdeviceptr)
COPY(cuMemcpyDtoD_v2, _ptds, CUdeviceptr, CUdeviceptr)
COPY_ASYNC(cuMemcpyAsync, _ptsz, CUdeviceptr, CUdeviceptr)
COPY_ASYNC(cuMemcpyHtoDAsync_v2, _ptsz, CUdeviceptr, const void*)
COPY_ASYNC(cuMemcpyDtoHAsync_v2, _ptsz, void*, CUdeviceptr)
COPY_ASYNC(cuMemcpyDtoDAsync_v2, _ptsz, CUdeviceptr, CUdeviceptr)

#define COPY_BOX(symbol, Box)                                                                                  \
    LATE_PAIR(                                                                                                 \
        symbol, _ptds, (const Box* box),                                                                       \
        return copy_box(#symbol, false, per_thread, nullptr, box, [](const Box* b) { return real(b); });)
#define COPY_BOX_ASYNC(symbol, Box)                                                                            \
    LATE_PAIR(symbol, _ptsz, (const Box* box, CUstream stream),                                                \
              return copy_box(#symbol, true, per_thread, stream, box,                                          \
                              [stream](const Box* b) { return real(b, stream); });)

COPY_BOX(cuMemcpy2D_v2, CUDA_MEMCPY2D)
COPY_BOX(cuMemcpy2DUnaligned_v2, CUDA_MEMCPY2D)
COPY_BOX(cuMemcpy3D_v2, CUDA_MEMCPY3D)
COPY_BOX_ASYNC(cuMemcpy2DAsync_v2, CUDA_MEMCPY2D)
COPY_BOX_ASYNC(cuMemcpy3DAsync_v2, CUDA_MEMCPY3D)

} // namespace simcuda::late
