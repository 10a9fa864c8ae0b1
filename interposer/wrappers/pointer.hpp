/// The program's queries about an address.
#pragma once

#include "interposer/act/stand_ins.hpp"
#include "interposer/wrappers/query.hpp"

namespace umadvisor::wrappers {

// By IS_MANAGED the runtime and frameworks recognise managed memory, and they use other paths for it. So for
// rewritten memory the answers are changed to those of device memory. All others are the driver's, above all
// those about what the memory can be used for: IPC, GPUDirect RDMA, exportable handles.

struct get_pointer_attribute : WhilePaused {
    template <Entry E>
    static CUresult call(void* data, CUpointer_attribute which, CUdeviceptr address) noexcept {
        const bool disguised =
            (which == CU_POINTER_ATTRIBUTE_HOST_POINTER || which == CU_POINTER_ATTRIBUTE_MEMORY_TYPE ||
             which == CU_POINTER_ATTRIBUTE_IS_MANAGED || which == CU_POINTER_ATTRIBUTE_MEMPOOL_HANDLE) &&
            act::passes_for_device_memory(address);
        if (disguised && which == CU_POINTER_ATTRIBUTE_HOST_POINTER) {
            if (data != nullptr)
                disguise(which, data); // as the driver does, release 580
            return CUDA_ERROR_INVALID_VALUE;
        }
        const CUresult result = ask<E>(data, which, address);
        if (disguised && result == CUDA_SUCCESS)
            disguise(which, data);
        return result;
    }

    /// Overwrites one answer about managed memory.
    static void disguise(CUpointer_attribute which, void* data) noexcept {
        if (which == CU_POINTER_ATTRIBUTE_HOST_POINTER)
            *static_cast<void**>(data) = nullptr;
        else if (which == CU_POINTER_ATTRIBUTE_MEMORY_TYPE)
            *static_cast<unsigned*>(data) = CU_MEMORYTYPE_DEVICE;
        else if (which == CU_POINTER_ATTRIBUTE_IS_MANAGED)
            *static_cast<bool*>(data) = false; // one byte, as the driver's boolean has at the least
        else if (which == CU_POINTER_ATTRIBUTE_MEMPOOL_HANDLE)
            *static_cast<CUmemoryPool*>(data) = act::original_of(*static_cast<CUmemoryPool*>(data));
    }
};

struct get_pointer_attributes : WhilePaused {
    template <Entry E>
    static CUresult call(unsigned count, CUpointer_attribute* which, void** data,
                         CUdeviceptr address) noexcept {
        const CUresult result = ask<E>(count, which, data, address);
        if (result == CUDA_SUCCESS && act::passes_for_device_memory(address))
            for (unsigned i = 0; i < count; ++i)
                get_pointer_attribute::disguise(which[i], data[i]);
        return result;
    }
};

} // namespace umadvisor::wrappers
