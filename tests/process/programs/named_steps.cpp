/// A loop whose steps have a name, and one that takes longer than the others; before it, a warm-up that calls
/// the same line.
#include <cuda_runtime_api.h>
#include <nvtx3/nvToolsExt.h>
#include <vector>

namespace {

constexpr std::size_t bytes = 8 << 20;
std::vector<char> host(bytes, 1);
void* device = nullptr;

__attribute__((noinline)) bool upload() {
    return cudaMemcpy(device, host.data(), bytes, cudaMemcpyHostToDevice) == cudaSuccess;
}

bool step(int uploads) {
    nvtxRangePushA("step");
    bool ok = true;
    for (int i = 0; i < uploads; ++i)
        ok = upload() && ok;
    ok = cudaDeviceSynchronize() == cudaSuccess && ok;
    nvtxRangePop();
    return ok;
}

} // namespace

int main() {
    if (cudaMalloc(&device, bytes) != cudaSuccess)
        return 1;
    bool ok = upload() && upload() && upload();
    for (int i = 0; i < 12; ++i)
        ok = step(i == 5 ? 6 : 1) && ok;
    return ok && cudaFree(device) == cudaSuccess ? 0 : 1;
}
