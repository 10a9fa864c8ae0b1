#include "analyzer/machine/device_calls.hpp"

#include "analyzer/reader/error.hpp"

#include <dlfcn.h>

namespace umadvisor::machine {

void* open_driver() {
    void* const library = ::dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
    if (library == nullptr)
        throw reader::Error(
            fmt::format("{}; install the NVIDIA driver, or put its folder in LD_LIBRARY_PATH", ::dlerror()));
    return library;
}

Driver::Driver() {
    void* const library = open_driver();
    const auto find = [library](auto& function, const char* name) {
        void* const found = ::dlsym(library, name);
        if (found == nullptr)
            throw reader::Error(fmt::format("libcuda.so.1: has no {}", name));
        function = reinterpret_cast<std::remove_reference_t<decltype(function)>>(found);
    };
    find(initialize, "cuInit");
    find(count_devices, "cuDeviceGetCount");
    find(get_device, "cuDeviceGet");
    find(get_name, "cuDeviceGetName");
    find(get_attribute, "cuDeviceGetAttribute");
    find(retain_context, "cuDevicePrimaryCtxRetain");
    find(set_context, "cuCtxSetCurrent");
    find(free_memory, "cuMemGetInfo_v2");
    find(allocate, "cuMemAlloc_v2");
    find(free, "cuMemFree_v2");
    find(allocate_pinned, "cuMemAllocHost_v2");
    find(free_pinned, "cuMemFreeHost");
    find(page_lock, "cuMemHostRegister_v2");
    find(unlock, "cuMemHostUnregister");
    find(allocate_managed, "cuMemAllocManaged");
    find(upload, "cuMemcpyHtoD_v2");
    find(download, "cuMemcpyDtoH_v2");
    find(upload_async, "cuMemcpyHtoDAsync_v2");
    find(download_async, "cuMemcpyDtoHAsync_v2");
    find(set_bytes, "cuMemsetD8_v2");
    find(copy_on_device, "cuMemcpyDtoD_v2");
    find(can_access_peer, "cuDeviceCanAccessPeer");
    find(enable_peer_access, "cuCtxEnablePeerAccess");
    find(copy_to_peer, "cuMemcpyPeerAsync");
    find(prefetch, "cuMemPrefetchAsync");
    find(advise, "cuMemAdvise");
    find(create_stream, "cuStreamCreate");
    find(destroy_stream, "cuStreamDestroy_v2");
    find(create_event, "cuEventCreate");
    find(record_event, "cuEventRecord");
    find(wait_event, "cuEventSynchronize");
    find(elapsed, "cuEventElapsedTime");
    find(synchronize, "cuCtxSynchronize");
    find(load_module, "cuModuleLoadData");
    find(get_function, "cuModuleGetFunction");
    find(launch, "cuLaunchKernel");
}

std::string error_text(int status, const char* by) {
    void* const library = ::dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
    const auto get_text =
        reinterpret_cast<int (*)(int, const char**)>(library == nullptr ? nullptr : ::dlsym(library, by));
    const char* text = nullptr;
    return get_text != nullptr && get_text(status, &text) == 0 && text != nullptr ? text : "";
}

void check(int status, const std::string& call) {
    if (status == 0)
        return;
    const std::string name = error_text(status, "cuGetErrorName");
    throw reader::Error(fmt::format("{} returns {}; umadvisor doctor says what works here", call,
                                    name.empty() ? fmt::format("CUresult {}", status) : name));
}

} // namespace umadvisor::machine
