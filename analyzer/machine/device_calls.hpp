/// The calls of the CUDA driver that calibration makes. The analyzer builds without CUDA's headers: prototypes
/// as in cuda.h, each by the symbol whose ABI has been the same since CUDA 8.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

namespace umadvisor::machine {

using Address = std::uint64_t;  ///< CUdeviceptr
using Handle = void*;           ///< contexts, streams, events, modules, functions
inline constexpr int host = -1; ///< CU_DEVICE_CPU

/// libcuda.so.1, loaded for good. Throws reader::Error where it is not there.
void* open_driver();

/// Functions return a CUresult.
struct Driver {
    /// Throws reader::Error where the driver is not there or lacks a function.
    Driver();

    int (*initialize)(unsigned);
    int (*count_devices)(int*);
    int (*get_device)(int*, int);
    int (*get_name)(char*, int, int);
    int (*get_attribute)(int*, int, int);
    int (*retain_context)(Handle*, int);
    int (*set_context)(Handle);
    int (*free_memory)(std::size_t*, std::size_t*);
    int (*allocate)(Address*, std::size_t);
    int (*free)(Address);
    int (*allocate_pinned)(void**, std::size_t);
    int (*free_pinned)(void*);
    int (*page_lock)(void*, std::size_t, unsigned);
    int (*unlock)(void*);
    int (*allocate_managed)(Address*, std::size_t, unsigned);
    int (*upload)(Address, const void*, std::size_t);
    int (*download)(void*, Address, std::size_t);
    int (*upload_async)(Address, const void*, std::size_t, Handle stream);
    int (*download_async)(void*, Address, std::size_t, Handle stream);
    int (*set_bytes)(Address, unsigned char, std::size_t);
    int (*copy_on_device)(Address, Address, std::size_t);
    int (*can_access_peer)(int*, int device, int peer);
    int (*enable_peer_access)(Handle context, unsigned);
    int (*copy_to_peer)(Address, Handle context, Address, Handle from_context, std::size_t, Handle stream);
    int (*prefetch)(Address, std::size_t, int device, Handle stream);
    int (*advise)(Address, std::size_t, int advice, int device);
    int (*create_stream)(Handle*, unsigned);
    int (*destroy_stream)(Handle);
    int (*create_event)(Handle*, unsigned);
    int (*record_event)(Handle, Handle stream);
    int (*wait_event)(Handle);
    int (*elapsed)(float* milliseconds, Handle from, Handle to);
    int (*synchronize)();
    int (*load_module)(Handle*, const void* image);
    int (*get_function)(Handle*, Handle module, const char* name);
    int (*launch)(Handle function, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned shared,
                  Handle stream, void** parameters, void** extra);
};

/// What the driver says of `status`: `by` is "cuGetErrorName" or "cuGetErrorString", which answer before
/// cuInit. Empty where it says nothing.
std::string error_text(int status, const char* by);

/// Throws reader::Error with the call's name and the error's when `status` is no success.
void check(int status, const std::string& call);

} // namespace umadvisor::machine
