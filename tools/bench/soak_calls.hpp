/// The driver's entry points that the soak calls, each of which counts its calls.
#pragma once

#define __CUDA_API_VERSION_INTERNAL
#include <cuda.h>

#include <atomic>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <dlfcn.h>
#include <vector>

namespace soak {

[[noreturn]] inline void fail(const char* what, int answer) {
    std::fprintf(stderr, "soak: %s: %d\n", what, answer);
    std::exit(1);
}

/// One exported symbol of the driver.
struct Symbol {
    const char* base;
    int version;
    const char* name;
    void* address = nullptr;
    std::atomic<std::uint64_t> calls{0}, bytes{0};

    Symbol(std::vector<Symbol*>& all, const char* under, int at, const char* exported)
        : base(under), version(at), name(exported) {
        all.push_back(this);
    }
};

template <class Function>
class Call : public Symbol {
public:
    using Symbol::Symbol;

    /// Any answer but success ends the program.
    template <class... Arguments>
    void operator()(Arguments... arguments) {
        const CUresult answer = reinterpret_cast<Function>(address)(arguments...);
        if (answer != CUDA_SUCCESS)
            fail(name, static_cast<int>(answer));
        calls.fetch_add(1, std::memory_order_relaxed);
    }

    Call& moving(std::uint64_t count) {
        bytes.fetch_add(count, std::memory_order_relaxed);
        return *this;
    }
};

/// Found by cuGetProcAddress, as the runtime finds them.
class Calls {
    std::vector<Symbol*> all_;

public:
#define SOAK_CALL(member, base, version, symbol) Call<decltype(&::symbol)> member{all_, base, version, #symbol};
    SOAK_CALL(initialize, "cuInit", 2000, cuInit)
    SOAK_CALL(retain, "cuDevicePrimaryCtxRetain", 7000, cuDevicePrimaryCtxRetain)
    SOAK_CALL(set_current, "cuCtxSetCurrent", 4000, cuCtxSetCurrent)
    SOAK_CALL(synchronize_context, "cuCtxSynchronize", 2000, cuCtxSynchronize)
    SOAK_CALL(load_module, "cuModuleLoadData", 2000, cuModuleLoadData)
    SOAK_CALL(unload_module, "cuModuleUnload", 2000, cuModuleUnload)
    SOAK_CALL(get_function, "cuModuleGetFunction", 2000, cuModuleGetFunction)
    SOAK_CALL(launch, "cuLaunchKernel", 4000, cuLaunchKernel)
    SOAK_CALL(allocate, "cuMemAlloc", 3020, cuMemAlloc_v2)
    SOAK_CALL(allocate_managed, "cuMemAllocManaged", 6000, cuMemAllocManaged)
    SOAK_CALL(allocate_host, "cuMemHostAlloc", 2020, cuMemHostAlloc)
    SOAK_CALL(allocate_async, "cuMemAllocAsync", 11020, cuMemAllocAsync)
    SOAK_CALL(free, "cuMemFree", 3020, cuMemFree_v2)
    SOAK_CALL(free_host, "cuMemFreeHost", 2000, cuMemFreeHost)
    SOAK_CALL(free_async, "cuMemFreeAsync", 11020, cuMemFreeAsync)
    SOAK_CALL(to_device, "cuMemcpyHtoD", 3020, cuMemcpyHtoD_v2)
    SOAK_CALL(to_host, "cuMemcpyDtoH", 3020, cuMemcpyDtoH_v2)
    SOAK_CALL(to_device_async, "cuMemcpyHtoDAsync", 3020, cuMemcpyHtoDAsync_v2)
    SOAK_CALL(to_host_async, "cuMemcpyDtoHAsync", 3020, cuMemcpyDtoHAsync_v2)
    SOAK_CALL(on_device_async, "cuMemcpyDtoDAsync", 3020, cuMemcpyDtoDAsync_v2)
    SOAK_CALL(set_async, "cuMemsetD8Async", 3020, cuMemsetD8Async)
    SOAK_CALL(create_stream, "cuStreamCreate", 2000, cuStreamCreate)
    SOAK_CALL(destroy_stream, "cuStreamDestroy", 4000, cuStreamDestroy_v2)
    SOAK_CALL(synchronize_stream, "cuStreamSynchronize", 2000, cuStreamSynchronize)
    SOAK_CALL(wait_event, "cuStreamWaitEvent", 3020, cuStreamWaitEvent)
    SOAK_CALL(create_event, "cuEventCreate", 2000, cuEventCreate)
    SOAK_CALL(destroy_event, "cuEventDestroy", 4000, cuEventDestroy_v2)
    SOAK_CALL(record_event, "cuEventRecord", 2000, cuEventRecord)
    SOAK_CALL(synchronize_event, "cuEventSynchronize", 2000, cuEventSynchronize)
#undef SOAK_CALL

    void find() {
        void* const library = dlopen("libcuda.so.1", RTLD_NOW);
        const auto get = reinterpret_cast<decltype(&cuGetProcAddress_v2)>(
            library != nullptr ? dlsym(library, "cuGetProcAddress_v2") : nullptr);
        for (Symbol* symbol : all_)
            if (get == nullptr ||
                get(symbol->base, &symbol->address, symbol->version, 0, nullptr) != CUDA_SUCCESS ||
                symbol->address == nullptr)
                fail(symbol->name, -1);
    }

    /// "calls" by exported symbol, "copied": bytes likewise.
    void print() const {
        const auto list = [this](const char* key, std::atomic<std::uint64_t> Symbol::*what) {
            std::printf("\"%s\": {", key);
            const char* comma = "";
            for (const Symbol* symbol : all_)
                if ((symbol->*what).load() != 0) {
                    std::printf("%s\"%s\": %llu", comma, symbol->name,
                                static_cast<unsigned long long>((symbol->*what).load()));
                    comma = ", ";
                }
            std::printf("}");
        };
        list("calls", &Symbol::calls);
        std::printf(", ");
        list("copied", &Symbol::bytes);
    }
};

} // namespace soak
