/// What each entry point of the late driver is made of. libcuda.so.1 that lies on simcuda and carries work out
/// as late as CUDA allows. Of memory it relies on nothing that the CUDA Driver API does not say in so many
/// words
/// ("API synchronization behavior"): copies between host memory come at once, whatever their stream has, and
/// those from pageable memory have read it when they are back. A real driver may be kinder; what one does
/// against it is in copies.cpp. A call whose error simcuda tells only when it is carried out ends the program.
#pragma once

#ifndef __CUDA_API_VERSION_INTERNAL
#define __CUDA_API_VERSION_INTERNAL
#endif
#include "tools/simcuda/late/order.hpp"

extern "C" void* simcuda_entry(const char* symbol);

namespace simcuda::late {

using Guard = std::lock_guard<std::recursive_mutex>;

template <class Function>
Function entry(const char* symbol, Function) {
    return reinterpret_cast<Function>(simcuda_entry(symbol));
}

/// What this library has in simcuda's place is found by simcuda's address.
struct Substitute {
    Substitute(const char* symbol, void* ours);
};

/// One entry point, whose `real` is simcuda's. The second form is for those with a per-thread default stream.
#define LATE(symbol, parameters, ...)                                                                          \
    extern "C" __attribute__((visibility("default"))) CUresult CUDAAPI symbol parameters {                     \
        static const auto real = entry(#symbol, &symbol);                                                      \
        const Guard guard(mutex());                                                                            \
        __VA_ARGS__                                                                                            \
    }                                                                                                          \
    static const Substitute substitute_##symbol(#symbol, reinterpret_cast<void*>(&symbol));
#define LATE_PAIR(symbol, suffix, parameters, ...)                                                             \
    LATE(symbol, parameters, constexpr bool per_thread = false; __VA_ARGS__)                                   \
    LATE(symbol##suffix, parameters, constexpr bool per_thread = true; __VA_ARGS__)

/// Ends the program unless it went well.
void must(CUresult answer, const char* what);

bool captures(CUstream stream, bool per_thread);

/// In the context that is current now; a thread that captures may be the one to carry it out.
std::function<void()> in_context(std::function<void()> call);

/// Behind what the stream has.
template <class Call>
CUresult later(const char* what, CUstream stream, bool per_thread, Call call) {
    if (captures(stream, per_thread))
        return call();
    submit(stream_of(stream, per_thread), in_context([what, call] { must(call(), what); }));
    return CUDA_SUCCESS;
}

/// The same, and waits for it.
template <class Call>
CUresult now(const char* what, CUstream stream, bool per_thread, Call call) {
    if (captures(stream, per_thread))
        return call();
    force(submit(stream_of(stream, per_thread), in_context([what, call] { must(call(), what); })));
    return CUDA_SUCCESS;
}

/// What copies make a difference of.
enum class End { pageable, pinned, device };
End end_of(CUdeviceptr address);

} // namespace simcuda::late
