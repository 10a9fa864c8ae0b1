/// The kernels that are launched: they do nothing, what is timed is the call.
#pragma once

#include "tools/bench/doors.hpp"
#include "tools/simcuda/portable.hpp"

#include <cuda_runtime_api.h>

namespace bench {

/// As PyTorch hands to its foreach kernels: 4 KiB by value, most of it addresses.
struct TensorLists {
    static constexpr int tensors = 110, lists = 3, blocks = 160;
    std::uint64_t address[lists][tensors];
    std::int64_t elements[tensors];
    unsigned char block_to_tensor[blocks];
    int block_to_chunk[blocks / 2 - 16];
};
static_assert(sizeof(TensorLists) <= 4096 && sizeof(TensorLists) >= 3900);

} // namespace bench

KERNEL touch_nothing(DevicePtr<float> a, DevicePtr<float> b, DevicePtr<float> c, DevicePtr<float> d,
                     DevicePtr<float> e, DevicePtr<float> f, std::size_t n, std::size_t m) {
    if (n == 1 && m == 1)
        a[0] = b[0] + c[0] + d[0] + e[0] + f[0];
}

KERNEL touch_no_tensor(bench::TensorLists lists, DevicePtr<float> a) {
    if (lists.elements[0] == 1)
        a[0] = 0;
}

namespace bench {

struct Kernels {
    CUfunction words, structure;
};

#ifdef __CUDACC__

inline CUfunction function_of(const void* kernel) {
    cudaFunction_t function = nullptr;
    if (cudaGetFuncBySymbol(&function, kernel) != cudaSuccess)
        give_up("cudaGetFuncBySymbol");
    return function;
}

inline Kernels load_kernels() {
    return {function_of(reinterpret_cast<const void*>(&touch_nothing)),
            function_of(reinterpret_cast<const void*>(&touch_no_tensor))};
}

#else

inline Kernels load_kernels() {
    using namespace simcuda;
    static KernelEntry words = Kernel<&touch_nothing>::make_entry("touch_nothing", translation_unit);
    static KernelEntry structure = Kernel<&touch_no_tensor>::make_entry("touch_no_tensor", translation_unit);
    words.next = &structure;
    translation_unit.kernels = &words;
    const Door<decltype(&::cuModuleLoadData)> load("cuModuleLoadData");
    const Door<decltype(&::cuModuleGetFunction)> find("cuModuleGetFunction");
    CUmodule module = nullptr;
    Kernels kernels{};
    must(load.hooked(&module, &translation_unit), "cuModuleLoadData");
    must(find.hooked(&kernels.words, module, "touch_nothing"), "cuModuleGetFunction");
    must(find.hooked(&kernels.structure, module, "touch_no_tensor"), "cuModuleGetFunction");
    return kernels;
}

#endif

} // namespace bench
