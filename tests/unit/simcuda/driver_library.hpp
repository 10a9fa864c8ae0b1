#pragma once

#ifndef __CUDA_API_VERSION_INTERNAL
#define __CUDA_API_VERSION_INTERNAL
#endif
#include <cuda.h>
#include <cudaProfiler.h>

#include "tools/simcuda/control.hpp"

#include <boost/test/unit_test.hpp>

#include <dlfcn.h>

#include <string>

/// The exported entry point of the loaded driver.
#define DRIVER(symbol) (*reinterpret_cast<decltype(&symbol)>(simcuda::find_symbol(#symbol)))
/// A call that succeeds.
#define DO(symbol, ...) BOOST_REQUIRE_EQUAL(DRIVER(symbol)(__VA_ARGS__), CUDA_SUCCESS)

namespace simcuda {

inline void* library() {
    static void* opened = dlopen("libcuda.so.1", RTLD_NOW);
    BOOST_REQUIRE_MESSAGE(opened, dlerror());
    return opened;
}

inline void* find_symbol(const char* name) {
    void* found = dlsym(library(), name);
    BOOST_REQUIRE_MESSAGE(found, "no symbol " << name);
    return found;
}

inline Control& control() {
    Control* live = DRIVER(simcuda_get)();
    BOOST_REQUIRE_EQUAL(live->bytes, sizeof(Control));
    return *live;
}

inline std::uint64_t now() {
    return DRIVER(simcuda_clock_ns)();
}

/// A current context, and no failure left behind by another test.
struct DriverFixture {
    DriverFixture() {
        DO(cuInit, 0);
        DO(cuDevicePrimaryCtxRetain, &context, 0);
        DO(cuCtxSetCurrent, context);
    }
    ~DriverFixture() {
        for (Failure& failure : control().failures)
            failure = {};
        DRIVER(cuCtxSynchronize)();
    }
    CUdeviceptr allocate(std::size_t bytes) {
        CUdeviceptr made = 0;
        DO(cuMemAlloc_v2, &made, bytes);
        return made;
    }
    CUcontext context = nullptr;
};

} // namespace simcuda
