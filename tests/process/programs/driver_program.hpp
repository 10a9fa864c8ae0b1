/// What the tests' driver-API programs share: each asks the driver the way the runtime does, by
/// cuGetProcAddress.
#pragma once

#define __CUDA_API_VERSION_INTERNAL
#include <cuda.h>

#include "tools/simcuda/device_pointer.hpp"
#include "tools/simcuda/kernel.hpp"

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <dlfcn.h>

/// Ends the program when a step that the test stands on fails.
inline void must(CUresult result, const char* what) {
    if (result != CUDA_SUCCESS) {
        std::printf("%s: %d\n", what, static_cast<int>(result));
        std::exit(3);
    }
}

/// An entry point by name, version and flags.
template <class Function>
Function ask(const char* name, int version, cuuint64_t flags = CU_GET_PROC_ADDRESS_DEFAULT) {
    static void* const library = dlopen("libcuda.so.1", RTLD_NOW);
    static const auto get = reinterpret_cast<decltype(&cuGetProcAddress_v2)>(
        library != nullptr ? dlsym(library, "cuGetProcAddress_v2") : nullptr);
    void* address = nullptr;
    if (get == nullptr || get(name, &address, version, flags, nullptr) != CUDA_SUCCESS || address == nullptr) {
        std::printf("no %s\n", name);
        std::exit(3);
    }
    return reinterpret_cast<Function>(address);
}

/// The newest form of `symbol` (an exported symbol, whose type it has) under its base name.
#define ASK(base, symbol) ask<decltype(&symbol)>(base, 13000)

/// What kernel code asks the runtime for; there is none here.
extern "C" inline const simcuda::DeviceInterface* simcudart_device_interface() {
    CUuuid id;
    std::memcpy(id.bytes, simcuda::device_interface_uuid, sizeof id.bytes);
    const void* table = nullptr;
    must(ASK("cuGetExportTable", cuGetExportTable)(&table, &id), "table");
    return static_cast<const simcuda::DeviceInterface*>(table);
}

inline void count_up(DevicePtr<float> x) {
    x[0] = x[0] + 1;
}

/// The same kernel for a driver that is not simcuda.
inline constexpr const char* count_up_ptx = R"(
.version 6.4
.target sm_52
.address_size 64
.visible .entry count_up(.param .u64 x) {
    .reg .b64 %address, %device;
    .reg .f32 %value;
    ld.param.u64 %address, [x];
    cvta.to.global.u64 %device, %address;
    ld.global.f32 %value, [%device];
    add.f32 %value, %value, 0f3F800000;
    st.global.f32 [%device], %value;
    ret;
}
)";

/// A module of one kernel, count_up(float*).
inline CUfunction load_count_up() {
    static simcuda::KernelEntry entry =
        simcuda::Kernel<&count_up>::make_entry("count_up", simcuda::translation_unit);
    simcuda::translation_unit.kernels = &entry;
    void* const driver = dlopen("libcuda.so.1", RTLD_NOW | RTLD_NOLOAD);
    const bool simulated = driver != nullptr && dlsym(driver, "simcuda_clock_ns") != nullptr;
    const void* const image = simulated ? static_cast<const void*>(&simcuda::translation_unit) : count_up_ptx;
    CUmodule module = nullptr;
    CUfunction function = nullptr;
    must(ASK("cuModuleLoadData", cuModuleLoadData)(&module, image), "load");
    must(ASK("cuModuleGetFunction", cuModuleGetFunction)(&function, module, "count_up"), "function");
    return function;
}

inline CUcontext make_context() {
    CUcontext context = nullptr;
    must(ASK("cuInit", cuInit)(0), "init");
    must(ASK("cuDevicePrimaryCtxRetain", cuDevicePrimaryCtxRetain)(&context, 0), "retain");
    must(ASK("cuCtxSetCurrent", cuCtxSetCurrent)(context), "set");
    return context;
}
