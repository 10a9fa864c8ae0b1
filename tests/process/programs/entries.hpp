/// Every recorded entry point of the driver, to be called with arguments made up from its type alone.
#pragma once

#include "driver_program.hpp"

#include <cudaProfiler.h>
#include <string_view>
#include <type_traits>

template <class Type>
concept Complete = std::is_void_v<Type> || requires {
    sizeof(Type);
};

template <class Result, class... Arguments>
Result CUDAAPI do_nothing(Arguments...) {
    return Result();
}
/// A function of that type.
template <class Result, class... Arguments>
auto nothing_like(Result(CUDA_CB*)(Arguments...)) {
    return &do_nothing<Result, Arguments...>;
}

constexpr bool is_recorded(std::string_view handling) {
    return handling != "counted";
}

/// each(name, address) for every entry point that is recorded in full and that the driver has.
template <class Each>
void for_each_entry(const Each& each) {
    void* const driver = dlopen("libcuda.so.1", RTLD_NOW);
#define API(symbol, handling)                                                                                  \
    if constexpr (is_recorded(#handling))                                                                      \
        if (void* const address = dlsym(driver, #symbol))                                                      \
            each(#symbol, reinterpret_cast<decltype(&symbol)>(address));
#define API_UNDECLARED(symbol)
#define API_NEWER(symbol, version, handling) // the driver lacks them
#include "interposer/driver_api.def"
}
