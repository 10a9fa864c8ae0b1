// Goes on whatever its calls answer: three uploads from nowhere in the middle of others, and an allocation for
// which a card of 128 MiB has no room. The test looks its lines up by the comments beside them.
#define __CUDA_API_VERSION_INTERNAL
#include <cuda.h>

#include <cstdio>
#include <vector>

namespace {

constexpr std::size_t mib = 1 << 20, bytes = 8 * mib;

struct Mesh {
    const float *x = nullptr, *y = nullptr, *z = nullptr;

    [[gnu::always_inline]] void upload(CUdeviceptr device) const {
        cuMemcpyHtoD_v2(device, x, mib); // line: x
        cuMemcpyHtoD_v2(device, y, mib); // line: y
        cuMemcpyHtoD_v2(device, z, mib); // line: z
    }
};

CUdeviceptr allocate(std::size_t size) {
    CUdeviceptr made = 0;
    cuMemAlloc_v2(&made, size); // line: allocate
    return made;
}

} // namespace

int main() {
    CUcontext context = nullptr;
    CUdeviceptr work = 0, managed = 0, missing = 0;
    std::vector<float> host(bytes / sizeof(float));
    if (cuInit(0) != CUDA_SUCCESS || cuDevicePrimaryCtxRetain(&context, 0) != CUDA_SUCCESS ||
        cuCtxSetCurrent(context) != CUDA_SUCCESS)
        return 3;
    work = allocate(bytes);
    for (int i = 0; i < 3; ++i)
        allocate(16 * mib);
    cuMemAllocManaged(&managed, 12 * mib, CU_MEM_ATTACH_GLOBAL); // line: managed
    int answers = 0;
    for (int i = 0; i < 10; ++i) {
        answers += cuMemcpyHtoD_v2(work, host.data(), bytes);
        if (i == 5)
            Mesh().upload(work);
    }
    cuMemAlloc_v2(&missing, 96 * mib); // line: missing
    std::printf("%d\n", answers);
    return 0;
}
