// A worker thread without a current context gets the driver's own refusals.
#include "driver_program.hpp"

#include <thread>

#define CALL(name, symbol, ...) std::printf(#symbol ": %d\n", static_cast<int>(ASK(name, symbol)(__VA_ARGS__)))

int main() {
    make_context();
    const CUfunction function = load_count_up();
    CUdeviceptr x = 0;
    must(ASK("cuMemAllocManaged", cuMemAllocManaged)(&x, 4096, CU_MEM_ATTACH_GLOBAL), "allocate");
    std::thread([&] {
        CUdeviceptr made = 0;
        void* host = nullptr;
        char bytes[64] = {};
        CUstream stream = nullptr;
        CUevent event = nullptr;
        std::size_t free = 0, total = 0;
        void* parameters[] = {&x};
        CALL("cuMemAlloc", cuMemAlloc_v2, &made, 4096);
        CALL("cuMemAllocManaged", cuMemAllocManaged, &made, 4096, CU_MEM_ATTACH_GLOBAL);
        CALL("cuMemAllocAsync", cuMemAllocAsync, &made, 4096, nullptr);
        CALL("cuMemHostAlloc", cuMemHostAlloc, &host, 4096, 0);
        CALL("cuMemHostRegister", cuMemHostRegister_v2, bytes, sizeof bytes, 0);
        CALL("cuMemGetInfo", cuMemGetInfo_v2, &free, &total);
        for (int i = 0; i < 10; ++i)
            CALL("cuLaunchKernel", cuLaunchKernel, function, 1, 1, 1, 1, 1, 1, 0, nullptr, parameters, nullptr);
        CALL("cuMemcpyHtoD", cuMemcpyHtoD_v2, x, bytes, sizeof bytes);
        CALL("cuMemcpyHtoDAsync", cuMemcpyHtoDAsync_v2, x, bytes, sizeof bytes, nullptr);
        CALL("cuMemsetD8", cuMemsetD8_v2, x, 0, 64);
        CALL("cuMemPrefetchAsync", cuMemPrefetchAsync_v2, x, 4096, {CU_MEM_LOCATION_TYPE_DEVICE, {0}}, 0,
             nullptr);
        CALL("cuStreamCreate", cuStreamCreate, &stream, 0);
        CALL("cuEventCreate", cuEventCreate, &event, 0);
        CALL("cuStreamSynchronize", cuStreamSynchronize, nullptr);
        CALL("cuCtxSynchronize", cuCtxSynchronize_v2, nullptr);
        CALL("cuMemFree", cuMemFree_v2, x + 1);
    }).join();
    CALL("cuCtxSynchronize", cuCtxSynchronize_v2, nullptr);
    CALL("cuMemFree", cuMemFree_v2, x);
    return 0;
}
