#include "tools/simcuda/driver/availability.hpp"

#include "tools/simcuda/driver/driver.hpp"

#include <algorithm>
#include <iterator>

namespace simcuda {

namespace {

struct Introduction {
    std::string_view symbol;
    int version;
};

// From cudaTypedefs.h: the versions of the PFN_* types of each name that has more than one ABI.
constexpr Introduction introductions[] = {
    {"cuCtxCreate_v3", 11040},
    {"cuCtxCreate_v4", 12050},
    {"cuCtxGetDevice_v2", 13000},
    {"cuCtxSynchronize_v2", 13000},
    {"cuDeviceGetUuid_v2", 11040},
    {"cuDevicePrimaryCtxRelease_v2", 11000},
    {"cuDevicePrimaryCtxReset_v2", 11000},
    {"cuDevicePrimaryCtxSetFlags_v2", 11000},
    {"cuEventElapsedTime_v2", 12080},
    {"cuGetProcAddress_v2", 12000},
    {"cuGraphAddDependencies_v2", 12030},
    {"cuGraphAddKernelNode_v2", 12000},
    {"cuGraphAddNode_v2", 12030},
    {"cuGraphExecKernelNodeSetParams_v2", 12000},
    {"cuGraphExecUpdate_v2", 12000},
    {"cuGraphGetEdges_v2", 12030},
    {"cuGraphInstantiate_v2", 11000},
    {"cuGraphKernelNodeGetParams_v2", 12000},
    {"cuGraphKernelNodeSetParams_v2", 12000},
    {"cuGraphNodeGetDependencies_v2", 12030},
    {"cuGraphNodeGetDependentNodes_v2", 12030},
    {"cuGraphRemoveDependencies_v2", 12030},
    {"cuGraphicsResourceSetMapFlags_v2", 6050},
    {"cuIpcOpenMemHandle_v2", 11000},
    {"cuLinkAddData_v2", 6050},
    {"cuLinkAddFile_v2", 6050},
    {"cuLinkCreate_v2", 6050},
    {"cuMemAdvise_v2", 12020},
    {"cuMemHostRegister_v2", 6050},
    {"cuMemPrefetchAsync_v2", 12020},
    {"cuMemcpy3DBatchAsync_v2", 13000},
    {"cuMemcpyBatchAsync_v2", 13000},
    {"cuStreamBatchMemOp_v2", 11070},
    {"cuStreamBeginCapture_v2", 10010},
    {"cuStreamGetCaptureInfo_v2", 11030},
    {"cuStreamGetCaptureInfo_v3", 12030},
    {"cuStreamGetCtx_v2", 12050},
    {"cuStreamUpdateCaptureDependencies_v2", 12030},
    {"cuStreamWaitValue32_v2", 11070},
    {"cuStreamWaitValue64_v2", 11070},
    {"cuStreamWriteValue32_v2", 11070},
    {"cuStreamWriteValue64_v2", 11070},
};

/// What drivers up to CUDA 13.0 lack.
constexpr Introduction newer[] = {
#define API(symbol, handling)
#define API_NEWER(symbol, version, handling) {#symbol, version},
#include "interposer/driver_api.def"
};

#ifdef SIMCUDA_OLD
constexpr std::string_view lacking[] = {
#define LACKS(symbol) #symbol,
#include "tools/simcuda/driver/old_driver_lacks.def"
};
#endif

constexpr int last_of_the_list = 13000; ///< CUDA whose entry points all variants have, but for an old one's

#ifdef SIMCUDA_ODD
// A driver may answer with an entry that it does not export under any name.
CUresult CUDAAPI odd_allocate(CUdeviceptr* address, size_t bytes) {
    return cuMemAlloc_v2(address, bytes);
}
CUresult CUDAAPI odd_copy(CUdeviceptr target, const void* source, size_t bytes) {
    return cuMemcpyHtoD_v2(target, source, bytes);
}
#endif

} // namespace

int introduced_in(std::string_view symbol) {
    const auto is_it = [symbol](const Introduction& known) { return known.symbol == symbol; };
    if (const auto* const late = std::find_if(std::begin(newer), std::end(newer), is_it);
        late != std::end(newer)) {
        return late->version;
    }
    const auto* const found = std::find_if(std::begin(introductions), std::end(introductions), is_it);
    return found == std::end(introductions) ? 0 : found->version;
}

bool is_available(std::string_view symbol) {
    if (introduced_in(symbol) > std::max(driver().config.driver_version, last_of_the_list)) {
        return false;
    }
#ifdef SIMCUDA_OLD
    return std::find(std::begin(lacking), std::end(lacking), symbol) == std::end(lacking);
#else
    return !symbol.empty();
#endif
}

void* answer_for([[maybe_unused]] std::string_view symbol, void* address) {
#ifdef SIMCUDA_ODD
    if (symbol == "cuMemAlloc_v2") {
        return reinterpret_cast<void*>(&odd_allocate);
    }
    if (symbol == "cuMemcpyHtoD_v2") {
        return reinterpret_cast<void*>(&odd_copy);
    }
#endif
    return address;
}

} // namespace simcuda
