#pragma once

#include "tools/simcuda/control.hpp"
#include "tools/simcuda/portable.hpp"

#include <boost/test/unit_test.hpp>

#include <dlfcn.h>

#include <cstdlib>
#include <string>

#define CHECK_CUDA(call) BOOST_REQUIRE_EQUAL(std::string(cudaGetErrorName(call)), "cudaSuccess")

namespace simcuda {

/// The driver the runtime has loaded.
template <class Function>
Function* driver_symbol(const char* name) {
    void* library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_NOLOAD);
    BOOST_REQUIRE(library);
    void* found = dlsym(library, name);
    BOOST_REQUIRE(found);
    return reinterpret_cast<Function*>(found);
}

inline Control& control() {
    return *driver_symbol<decltype(simcuda_get)>("simcuda_get")();
}
inline std::uint64_t now() {
    return driver_symbol<decltype(simcuda_clock_ns)>("simcuda_clock_ns")();
}
inline std::uint64_t calls(const char* entry) {
    return driver_symbol<decltype(simcuda_calls)>("simcuda_calls")(entry);
}

/// The driver variant the test runs on; "" for the plain one.
inline std::string variant() {
    const char* name = std::getenv("SIMCUDA_VARIANT");
    return name ? name : "";
}

} // namespace simcuda
