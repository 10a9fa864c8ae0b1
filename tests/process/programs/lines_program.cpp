// Copies of pageable memory, from lines that the test looks up by the comments beside them. Each library that
// is named copies too, and is closed again.
#define __CUDA_API_VERSION_INTERNAL
#include <cuda.h>

#include <cstdio>
#include <dlfcn.h>
#include <vector>

namespace {

constexpr std::size_t bytes = 8 << 20;
using Copy = int (*)(CUdeviceptr, const void*, std::size_t);

template <class Value>
struct Buffer {
    CUdeviceptr device = 0;
    std::vector<Value> host;

    [[gnu::always_inline]] int upload() const {
        return cuMemcpyHtoD_v2(device, host.data(), host.size() * sizeof(Value)); // line: inlined
    }
};

[[gnu::always_inline]] inline int upload_twice(const Buffer<float>& buffer) {
    return buffer.upload() + // line: inlines
           buffer.upload();
}

[[gnu::noinline]] int copy_by_helpers(const Buffer<float>& buffer) {
    const int answer = upload_twice(buffer); // line: calls helpers
    asm volatile("" ::: "memory");
    return answer;
}

[[gnu::noinline]] int copy_in_program(const Buffer<float>& buffer) {
    const int answer = cuMemcpyHtoD_v2(buffer.device, buffer.host.data(), bytes); // line: program
    asm volatile("" ::: "memory");
    return answer;
}

[[gnu::noinline]] int call_library(Copy copy, const Buffer<float>& buffer) {
    const int answer = copy(buffer.device, buffer.host.data(), bytes); // line: calls library
    asm volatile("" ::: "memory");
    return answer;
}

} // namespace

int main(int argc, char** argv) {
    CUcontext context = nullptr;
    Buffer<float> buffer{0, std::vector<float>(bytes / sizeof(float))};
    if (cuInit(0) != CUDA_SUCCESS || cuDevicePrimaryCtxRetain(&context, 0) != CUDA_SUCCESS ||
        cuCtxSetCurrent(context) != CUDA_SUCCESS || cuMemAlloc_v2(&buffer.device, bytes) != CUDA_SUCCESS)
        return 3;
    int answers = 0;
    for (int i = 0; i < 10; ++i) {
        answers += copy_by_helpers(buffer);
        answers += copy_in_program(buffer); // line: main
    }
    for (int i = 1; i < argc; ++i) {
        void* const library = dlopen(argv[i], RTLD_NOW | RTLD_LOCAL);
        const auto copy =
            reinterpret_cast<Copy>(library != nullptr ? dlsym(library, "copy_in_library") : nullptr);
        if (copy == nullptr)
            return 3;
        for (int round = 0; round < 10; ++round)
            answers += call_library(copy, buffer);
        std::printf("%d", dlclose(library));
    }
    std::printf("%d\n", answers);
    return 0;
}
