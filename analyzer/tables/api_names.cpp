#include "analyzer/tables/api_names.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <iterator>
#include <utility>

namespace umadvisor::tables {
namespace {

using Pair = std::pair<std::string_view, std::string_view>;

// Base symbols in the order of their names. The runtime's own documentation names these pairs only in part;
// they are what libcudart 13.0 was seen to call, and for pools, peers and other processes the functions that
// the two manuals describe in the same words.
constexpr Pair runtime_names[] = {
    {"cuArray3DCreate", "cudaMallocArray"},
    {"cuArrayCreate", "cudaMallocArray"},
    {"cuArrayDestroy", "cudaFreeArray"},
    {"cuCtxDisablePeerAccess", "cudaDeviceDisablePeerAccess"},
    {"cuCtxEnablePeerAccess", "cudaDeviceEnablePeerAccess"},
    {"cuCtxSynchronize", "cudaDeviceSynchronize"},
    {"cuDestroyExternalMemory", "cudaDestroyExternalMemory"},
    {"cuDeviceGetDefaultMemPool", "cudaDeviceGetDefaultMemPool"},
    {"cuDeviceGetMemPool", "cudaDeviceGetMemPool"},
    {"cuDevicePrimaryCtxReset", "cudaDeviceReset"},
    {"cuDeviceSetMemPool", "cudaDeviceSetMemPool"},
    {"cuEventCreate", "cudaEventCreate"},
    {"cuEventDestroy", "cudaEventDestroy"},
    {"cuEventQuery", "cudaEventQuery"},
    {"cuEventRecord", "cudaEventRecord"},
    {"cuEventRecordWithFlags", "cudaEventRecordWithFlags"},
    {"cuEventSynchronize", "cudaEventSynchronize"},
    {"cuExternalMemoryGetMappedBuffer", "cudaExternalMemoryGetMappedBuffer"},
    {"cuExternalMemoryGetMappedMipmappedArray", "cudaExternalMemoryGetMappedMipmappedArray"},
    {"cuGraphExecChildGraphNodeSetParams", "cudaGraphExecChildGraphNodeSetParams"},
    {"cuGraphExecDestroy", "cudaGraphExecDestroy"},
    {"cuGraphExecEventRecordNodeSetEvent", "cudaGraphExecEventRecordNodeSetEvent"},
    {"cuGraphExecEventWaitNodeSetEvent", "cudaGraphExecEventWaitNodeSetEvent"},
    {"cuGraphExecHostNodeSetParams", "cudaGraphExecHostNodeSetParams"},
    {"cuGraphExecKernelNodeSetParams", "cudaGraphExecKernelNodeSetParams"},
    {"cuGraphExecMemcpyNodeSetParams", "cudaGraphExecMemcpyNodeSetParams"},
    {"cuGraphExecMemsetNodeSetParams", "cudaGraphExecMemsetNodeSetParams"},
    {"cuGraphExecNodeSetParams", "cudaGraphExecNodeSetParams"},
    {"cuGraphExecUpdate", "cudaGraphExecUpdate"},
    {"cuGraphInstantiate", "cudaGraphInstantiate"},
    {"cuGraphInstantiateWithFlags", "cudaGraphInstantiate"},
    {"cuGraphInstantiateWithParams", "cudaGraphInstantiateWithParams"},
    {"cuGraphLaunch", "cudaGraphLaunch"},
    {"cuGraphNodeSetEnabled", "cudaGraphNodeSetEnabled"},
    {"cuImportExternalMemory", "cudaImportExternalMemory"},
    {"cuIpcCloseMemHandle", "cudaIpcCloseMemHandle"},
    {"cuIpcGetEventHandle", "cudaIpcGetEventHandle"},
    {"cuIpcGetMemHandle", "cudaIpcGetMemHandle"},
    {"cuIpcOpenEventHandle", "cudaIpcOpenEventHandle"},
    {"cuIpcOpenMemHandle", "cudaIpcOpenMemHandle"},
    {"cuLaunchCooperativeKernel", "cudaLaunchCooperativeKernel"},
    {"cuLaunchHostFunc", "cudaLaunchHostFunc"},
    {"cuLaunchKernel", "cudaLaunchKernel"},
    {"cuLaunchKernelEx", "cudaLaunchKernelExC"},
    {"cuMemAdvise", "cudaMemAdvise"},
    {"cuMemAlloc", "cudaMalloc"},
    {"cuMemAllocAsync", "cudaMallocAsync"},
    {"cuMemAllocFromPoolAsync", "cudaMallocFromPoolAsync"},
    {"cuMemAllocHost", "cudaMallocHost"},
    {"cuMemAllocManaged", "cudaMallocManaged"},
    {"cuMemAllocPitch", "cudaMallocPitch"},
    {"cuMemDiscardAndPrefetchBatchAsync", "cudaMemDiscardAndPrefetchBatchAsync"},
    {"cuMemDiscardBatchAsync", "cudaMemDiscardBatchAsync"},
    {"cuMemFree", "cudaFree"},
    {"cuMemFreeAsync", "cudaFreeAsync"},
    {"cuMemFreeHost", "cudaFreeHost"},
    {"cuMemGetDefaultMemPool", "cudaMemGetDefaultMemPool"},
    {"cuMemGetInfo", "cudaMemGetInfo"},
    {"cuMemGetMemPool", "cudaMemGetMemPool"},
    {"cuMemHostAlloc", "cudaMallocHost"},
    {"cuMemHostRegister", "cudaHostRegister"},
    {"cuMemHostUnregister", "cudaHostUnregister"},
    {"cuMemPoolCreate", "cudaMemPoolCreate"},
    {"cuMemPoolDestroy", "cudaMemPoolDestroy"},
    {"cuMemPoolExportPointer", "cudaMemPoolExportPointer"},
    {"cuMemPoolExportToShareableHandle", "cudaMemPoolExportToShareableHandle"},
    {"cuMemPoolImportFromShareableHandle", "cudaMemPoolImportFromShareableHandle"},
    {"cuMemPoolImportPointer", "cudaMemPoolImportPointer"},
    {"cuMemPoolSetAccess", "cudaMemPoolSetAccess"},
    {"cuMemPoolSetAttribute", "cudaMemPoolSetAttribute"},
    {"cuMemPoolTrimTo", "cudaMemPoolTrimTo"},
    {"cuMemPrefetchAsync", "cudaMemPrefetchAsync"},
    {"cuMemPrefetchBatchAsync", "cudaMemPrefetchBatchAsync"},
    {"cuMemSetMemPool", "cudaMemSetMemPool"},
    {"cuMemcpy", "cudaMemcpy"},
    {"cuMemcpy2D", "cudaMemcpy2D"},
    {"cuMemcpy2DAsync", "cudaMemcpy2DAsync"},
    {"cuMemcpy2DUnaligned", "cudaMemcpy2D"},
    {"cuMemcpy3D", "cudaMemcpy3D"},
    {"cuMemcpy3DAsync", "cudaMemcpy3DAsync"},
    {"cuMemcpy3DBatchAsync", "cudaMemcpy3DBatchAsync"},
    {"cuMemcpy3DPeer", "cudaMemcpy3DPeer"},
    {"cuMemcpy3DPeerAsync", "cudaMemcpy3DPeerAsync"},
    {"cuMemcpyAsync", "cudaMemcpyAsync"},
    {"cuMemcpyAtoH", "cudaMemcpyFromArray"},
    {"cuMemcpyAtoHAsync", "cudaMemcpyFromArrayAsync"},
    {"cuMemcpyBatchAsync", "cudaMemcpyBatchAsync"},
    {"cuMemcpyDtoD", "cudaMemcpy"},
    {"cuMemcpyDtoDAsync", "cudaMemcpyAsync"},
    {"cuMemcpyDtoH", "cudaMemcpy"},
    {"cuMemcpyDtoHAsync", "cudaMemcpyAsync"},
    {"cuMemcpyHtoA", "cudaMemcpyToArray"},
    {"cuMemcpyHtoAAsync", "cudaMemcpyToArrayAsync"},
    {"cuMemcpyHtoD", "cudaMemcpy"},
    {"cuMemcpyHtoDAsync", "cudaMemcpyAsync"},
    {"cuMemcpyPeer", "cudaMemcpyPeer"},
    {"cuMemcpyPeerAsync", "cudaMemcpyPeerAsync"},
    {"cuMemsetD16", "cudaMemset"},
    {"cuMemsetD16Async", "cudaMemsetAsync"},
    {"cuMemsetD2D16", "cudaMemset2D"},
    {"cuMemsetD2D16Async", "cudaMemset2DAsync"},
    {"cuMemsetD2D32", "cudaMemset2D"},
    {"cuMemsetD2D32Async", "cudaMemset2DAsync"},
    {"cuMemsetD2D8", "cudaMemset2D"},
    {"cuMemsetD2D8Async", "cudaMemset2DAsync"},
    {"cuMemsetD32", "cudaMemset"},
    {"cuMemsetD32Async", "cudaMemsetAsync"},
    {"cuMemsetD8", "cudaMemset"},
    {"cuMemsetD8Async", "cudaMemsetAsync"},
    {"cuMipmappedArrayCreate", "cudaMallocMipmappedArray"},
    {"cuMipmappedArrayDestroy", "cudaFreeMipmappedArray"},
    {"cuPointerGetAttribute", "cudaPointerGetAttributes"},
    {"cuPointerGetAttributes", "cudaPointerGetAttributes"},
    {"cuStreamAddCallback", "cudaStreamAddCallback"},
    {"cuStreamAttachMemAsync", "cudaStreamAttachMemAsync"},
    {"cuStreamBeginCapture", "cudaStreamBeginCapture"},
    {"cuStreamBeginCaptureToGraph", "cudaStreamBeginCaptureToGraph"},
    {"cuStreamCreate", "cudaStreamCreate"},
    {"cuStreamCreateWithPriority", "cudaStreamCreateWithPriority"},
    {"cuStreamDestroy", "cudaStreamDestroy"},
    {"cuStreamEndCapture", "cudaStreamEndCapture"},
    {"cuStreamQuery", "cudaStreamQuery"},
    {"cuStreamSynchronize", "cudaStreamSynchronize"},
    {"cuStreamWaitEvent", "cudaStreamWaitEvent"},
};
static_assert(std::is_sorted(std::begin(runtime_names), std::end(runtime_names)));

// cuMemGetInfo, cuMemGetAddressRange and the like only ask.
constexpr std::string_view moving[] = {
    "Memcpy",       "Memset",      "GraphLaunch",   "MemPrefetch",     "MemDiscard",
    "cuMemAdvise",  "cuMemAlloc",  "cuMemFree",     "cuMemMap",        "cuMemCreate",
    "cuMemRelease", "cuMemUnmap",  "cuArrayCreate", "cuMemHost",       "cuLaunch",
    "cuIpcOpenMem", "cuMemImport", "BatchAsync",    "cuArray3DCreate", "cuMipmappedArrayCreate"};

bool drop_suffix(std::string_view& symbol, std::string_view suffix) {
    if (!symbol.ends_with(suffix))
        return false;
    symbol.remove_suffix(suffix.size());
    return true;
}

} // namespace

std::string_view base_symbol(std::string_view symbol) {
    (void)(drop_suffix(symbol, "_ptsz") || drop_suffix(symbol, "_ptds"));
    const std::size_t at = symbol.rfind("_v");
    if (at != std::string_view::npos && at + 2 < symbol.size() &&
        std::all_of(symbol.begin() + static_cast<std::ptrdiff_t>(at) + 2, symbol.end(),
                    [](unsigned char c) { return std::isdigit(c) != 0; }))
        symbol = symbol.substr(0, at);
    return symbol;
}

std::string_view call_name(std::string_view symbol, bool runtime) {
    const std::string_view base = base_symbol(symbol);
    if (!runtime)
        return base;
    const auto* found =
        std::lower_bound(std::begin(runtime_names), std::end(runtime_names), base,
                         [](const Pair& pair, std::string_view key) { return pair.first < key; });
    return found != std::end(runtime_names) && found->first == base ? found->second : base;
}

bool moves_memory(std::string_view symbol) {
    // Graph nodes describe work that is counted when the graph is launched.
    if (symbol.find("Node") != std::string_view::npos || symbol.find("Get") != std::string_view::npos)
        return false;
    return std::any_of(std::begin(moving), std::end(moving),
                       [&](std::string_view part) { return symbol.find(part) != std::string_view::npos; });
}

} // namespace umadvisor::tables
