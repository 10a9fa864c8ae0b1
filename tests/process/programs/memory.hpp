/// What the scenarios of memory_program print: the driver's answers, and what is found in the memory.
#pragma once

#include "driver_program.hpp"

#include <cstddef>

#define CALL(name, symbol, ...) std::printf(#symbol ": %d\n", static_cast<int>(ASK(name, symbol)(__VA_ARGS__)))

inline constexpr std::size_t piece = 2 << 20;

inline CUmemLocation on_device(int ordinal) {
    return {CU_MEM_LOCATION_TYPE_DEVICE, {ordinal}};
}

inline CUmemAllocationProp of_location(CUmemLocation location) {
    CUmemAllocationProp wanted{};
    wanted.type = CU_MEM_ALLOCATION_TYPE_PINNED;
    wanted.location = location;
    wanted.requestedHandleTypes = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR;
    return wanted;
}

inline void launch(CUfunction function, CUdeviceptr x) {
    void* parameters[] = {&x};
    CALL("cuLaunchKernel", cuLaunchKernel, function, 1, 1, 1, 1, 1, 1, 0, nullptr, parameters, nullptr);
}

inline void fill(CUdeviceptr to, float value) {
    CALL("cuMemcpyHtoD", cuMemcpyHtoD_v2, to, &value, sizeof value);
}

inline void show(CUdeviceptr from) {
    float value = -1;
    CALL("cuMemcpyDtoH", cuMemcpyDtoH_v2, &value, from, sizeof value);
    std::printf("value %g\n", static_cast<double>(value));
}

inline CUmemGenericAllocationHandle map_piece(CUdeviceptr at, CUmemLocation location) {
    const CUmemAllocationProp wanted = of_location(location);
    CUmemGenericAllocationHandle handle = 0;
    CALL("cuMemCreate", cuMemCreate, &handle, piece, &wanted, 0);
    CALL("cuMemMap", cuMemMap, at, piece, 0, handle, 0);
    const CUmemAccessDesc access{location, CU_MEM_ACCESS_FLAGS_PROT_READWRITE};
    CALL("cuMemSetAccess", cuMemSetAccess, at, piece, &access, 1);
    return handle;
}

/// Memory of another process; `pools` says whether from the default pool too, which a real driver does not
/// export.
int ipc(bool pools);
int pools_of_one_handle();

/// Memory of another API.
int external();
