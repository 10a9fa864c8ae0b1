/// One of the simulated drivers, asked through its own exports.
#pragma once

#ifndef __CUDA_API_VERSION_INTERNAL
#define __CUDA_API_VERSION_INTERNAL
#endif
#include <cuda.h>

#include <boost/test/unit_test.hpp>

#include <dlfcn.h>

#include <string>

class Variant {
public:
    explicit Variant(const std::string& name)
        : library_(dlopen((SIMCUDA_FOLDER "/" + name + "/libcuda.so.1").c_str(), RTLD_NOW | RTLD_LOCAL)) {
        BOOST_REQUIRE_MESSAGE(library_, dlerror());
    }
    void* find(const char* symbol) const { return dlsym(library_, symbol); }
    template <class Function, class... Arguments>
    CUresult call(Function*, const char* symbol, Arguments... arguments) const {
        BOOST_REQUIRE(find(symbol));
        return reinterpret_cast<Function*>(find(symbol))(arguments...);
    }

private:
    void* library_;
};

#define CALL(variant, symbol, ...) variant.call(static_cast<decltype(&symbol)>(nullptr), #symbol, ##__VA_ARGS__)
