// An allocator for PyTorch (torch.cuda.memory.CUDAPluggableAllocator) and CuPy whose memory --act rewrite
// leaves to the driver: from a pool with a limit.
#include "tests/process/programs/driver_program.hpp"

namespace {

CUmemoryPool pool_of(int device) {
    static CUmemoryPool pool = nullptr;
    if (pool == nullptr) {
        CUmemPoolProps wanted{};
        wanted.allocType = CU_MEM_ALLOCATION_TYPE_PINNED;
        wanted.location = {CU_MEM_LOCATION_TYPE_DEVICE, {device}};
        wanted.maxSize = std::size_t{6} << 30;
        must(ASK("cuMemPoolCreate", cuMemPoolCreate)(&pool, &wanted), "cuMemPoolCreate");
    }
    return pool;
}

} // namespace

extern "C" void* limited_allocate(std::size_t bytes, int device, CUstream stream) {
    CUdeviceptr memory = 0;
    const auto allocate = ASK("cuMemAllocFromPoolAsync", cuMemAllocFromPoolAsync);
    must(allocate(&memory, bytes, pool_of(device), stream), "cuMemAllocFromPoolAsync");
    return reinterpret_cast<void*>(memory);
}

extern "C" void limited_free(void* memory, std::size_t, int, CUstream stream) {
    must(ASK("cuMemFreeAsync", cuMemFreeAsync)(reinterpret_cast<CUdeviceptr>(memory), stream),
         "cuMemFreeAsync");
}
