#pragma once

#ifndef __CUDA_API_VERSION_INTERNAL
#define __CUDA_API_VERSION_INTERNAL
#endif
#include <cuda.h>
#include <cudaProfiler.h>

#include "tools/simcuda/control.hpp"

#include <boost/test/unit_test.hpp>

#include <dlfcn.h>

#include <vector>

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

/// A current context, and no failure left behind by another test. What a test makes with it goes with it.
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
        for (const CUstream stream : streams_)
            DRIVER(cuStreamDestroy_v2)(stream);
        for (const CUevent event : events_)
            DRIVER(cuEventDestroy_v2)(event);
        for (const CUdeviceptr address : memory_)
            DRIVER(cuMemFree_v2)(address);
        for (void* const address : pinned_)
            DRIVER(cuMemFreeHost)(address);
    }
    CUstream make_stream(unsigned flags = CU_STREAM_NON_BLOCKING) {
        DO(cuStreamCreate, &streams_.emplace_back(), flags);
        return streams_.back();
    }
    CUevent make_event(unsigned flags = CU_EVENT_DISABLE_TIMING) {
        DO(cuEventCreate, &events_.emplace_back(), flags);
        return events_.back();
    }
    CUdeviceptr allocate(std::size_t bytes) {
        DO(cuMemAlloc_v2, &memory_.emplace_back(), bytes);
        return memory_.back();
    }
    CUdeviceptr allocate_managed(std::size_t bytes) {
        DO(cuMemAllocManaged, &memory_.emplace_back(), bytes, CU_MEM_ATTACH_GLOBAL);
        return memory_.back();
    }
    void* pin(std::size_t bytes) {
        DO(cuMemHostAlloc, &pinned_.emplace_back(), bytes, 0);
        return pinned_.back();
    }
    CUcontext context = nullptr;

private:
    std::vector<CUstream> streams_;
    std::vector<CUevent> events_;
    std::vector<CUdeviceptr> memory_;
    std::vector<void*> pinned_;
};

} // namespace simcuda
