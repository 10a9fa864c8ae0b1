// Asks for entry points in every way that has broken an interposer. Prints statuses; the same with and without
// one.
#include "driver_program.hpp"

#include <cstring>
#include <link.h>
#include <string>
#include <sys/mman.h>

namespace {

using Get = decltype(&cuGetProcAddress_v2);
using OldGet = decltype(&cuGetProcAddress);
using Status = CUdriverProcAddressQueryResult;

/// By reference: the arguments of a call are evaluated in any order.
void show(const char* what, CUresult result, void* const& address, const Status& status) {
    std::printf("%s: %d %s %d\n", what, static_cast<int>(result), address != nullptr ? "address" : "null",
                status);
}

void ask_with_nulls(Get get, OldGet old_get) {
    void* address = nullptr;
    Status status{};
    const auto fresh = [&] {
        address = nullptr;
        status = static_cast<Status>(77);
    };
    for (const char* name : {"cuMemAlloc", "cuNoSuchFunction", "", "cuGetProcAddress"})
        for (const int version : {0, 2000, 12000, 13000, 99000}) {
            fresh();
            std::printf("%s at %d\n", name, version);
            show(" both", get(name, &address, version, 0, &status), address, status);
            fresh();
            show(" no status", get(name, &address, version, 0, nullptr), address, status);
            fresh();
            show(" no address", get(name, nullptr, version, 0, &status), address, status);
            fresh();
            show(" neither", get(name, nullptr, version, 0, nullptr), address, status);
            fresh();
            show(" old", old_get(name, &address, version, 0), address, status);
            fresh();
            show(" old, no address", old_get(name, nullptr, version, 0), address, status);
        }
    fresh();
    show("no name", get(nullptr, &address, 12000, 0, &status), address, status);
    fresh();
    show("no name, old", old_get(nullptr, &address, 12000, 0), address, status);
    fresh();
    show("unknown flags", get("cuMemAlloc", &address, 12000, 0xff00, &status), address, status);
}

/// The legacy and the per-thread form of one name are two functions.
void launch_by_both_flags() {
    make_context();
    const CUfunction function = load_count_up();
    CUdeviceptr x = 0;
    must(ASK("cuMemAlloc", cuMemAlloc_v2)(&x, 4096), "allocate");
    must(ASK("cuMemsetD8", cuMemsetD8_v2)(x, 0, 4096), "set");
    using Launch = decltype(&cuLaunchKernel);
    const Launch plain = ask<Launch>("cuLaunchKernel", 7000, CU_GET_PROC_ADDRESS_DEFAULT);
    const Launch legacy = ask<Launch>("cuLaunchKernel", 7000, CU_GET_PROC_ADDRESS_LEGACY_STREAM);
    const Launch own = ask<Launch>("cuLaunchKernel", 7000, CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM);
    std::printf("plain and legacy %s, legacy and per-thread %s\n", plain == legacy ? "same" : "differ",
                legacy == own ? "same" : "differ");
    void* parameters[] = {&x};
    std::printf("%d\n", legacy(function, 1, 1, 1, 1, 1, 1, 0, nullptr, parameters, nullptr));
    std::printf("%d\n", own(function, 1, 1, 1, 1, 1, 1, 0, nullptr, parameters, nullptr));
    float value = 0;
    must(ASK("cuMemcpyDtoH", cuMemcpyDtoH_v2)(&value, x, sizeof value), "copy");
    std::printf("%g\n", static_cast<double>(value));
}

/// One name, two signatures, told apart by the version alone.
void call_both_abis(Get get) {
    const CUcontext context = make_context();
    CUdeviceptr x = 0;
    must(ASK("cuMemAllocManaged", cuMemAllocManaged)(&x, 4 << 20, CU_MEM_ATTACH_GLOBAL), "allocate");
    const CUmemLocation device{CU_MEM_LOCATION_TYPE_DEVICE, {0}};
    std::printf("prefetch %d\n",
                ask<decltype(&cuMemPrefetchAsync)>("cuMemPrefetchAsync", 8000)(x, 1 << 20, 0, nullptr));
    std::printf("prefetch %d\n", ask<decltype(&cuMemPrefetchAsync_v2)>("cuMemPrefetchAsync",
                                                                       12020)(x, 2 << 20, device, 0, nullptr));
    std::printf("advise %d\n", ask<decltype(&cuMemAdvise)>("cuMemAdvise", 8000)(
                                   x, 1 << 20, CU_MEM_ADVISE_SET_READ_MOSTLY, CU_DEVICE_CPU));
    std::printf("advise %d\n", ask<decltype(&cuMemAdvise_v2)>("cuMemAdvise", 12020)(
                                   x, 2 << 20, CU_MEM_ADVISE_SET_PREFERRED_LOCATION, device));
    std::printf("synchronize %d\n", ask<decltype(&cuCtxSynchronize)>("cuCtxSynchronize", 2000)());
    std::printf("synchronize %d\n", ask<decltype(&cuCtxSynchronize_v2)>("cuCtxSynchronize", 13000)(context));
    void* four = nullptr;
    void* five = nullptr;
    Status status = static_cast<Status>(77);
    std::printf("%d %d\n", get("cuGetProcAddress", &four, 11030, 0, nullptr),
                get("cuGetProcAddress", &five, 12000, 0, nullptr));
    void* by_four = nullptr;
    void* by_five = nullptr;
    std::printf("%d\n", reinterpret_cast<OldGet>(four)("cuMemFree", &by_four, 3020, 0));
    const CUresult answer = reinterpret_cast<Get>(five)("cuMemFree", &by_five, 3020, 0, &status);
    std::printf("%d %d\n", answer, status);
    std::printf("%s\n", by_four == by_five ? "one answer" : "two answers");
    std::printf("free %d\n", reinterpret_cast<decltype(&cuMemFree_v2)>(by_four)(x));
}

/// The library is closed and opened again while its functions stay in use.
void close_the_library() {
    void* library = dlopen("libcuda.so.1", RTLD_NOW);
    const auto init = reinterpret_cast<decltype(&cuInit)>(dlsym(library, "cuInit"));
    std::printf("%d\n", init(0));
    std::printf("close %d\n", dlclose(library));
    library = dlopen("libcuda.so.1", RTLD_NOW);
    std::printf("again %d\n", reinterpret_cast<decltype(&cuInit)>(dlsym(library, "cuInit"))(0));
    make_context();
    CUdeviceptr x = 0;
    std::printf("%d\n", reinterpret_cast<decltype(&cuMemAlloc_v2)>(dlsym(library, "cuMemAlloc_v2"))(&x, 4096));
    std::printf("%d\n", reinterpret_cast<decltype(&cuMemFree_v2)>(dlsym(library, "cuMemFree_v2"))(x));
    std::printf("close %d\n", dlclose(library));
}

} // namespace

int main(int argc, char** argv) {
    const std::string scenario = argc == 2 ? argv[1] : "";
    void* const library = dlopen("libcuda.so.1", RTLD_NOW);
    if (library == nullptr)
        return 1;
    const auto get = reinterpret_cast<Get>(dlsym(library, "cuGetProcAddress_v2"));
    const auto old_get = reinterpret_cast<OldGet>(dlsym(library, "cuGetProcAddress"));
    if (scenario == "null")
        ask_with_nulls(get, old_get);
    else if (scenario == "flags")
        launch_by_both_flags();
    else if (scenario == "abis")
        call_both_abis(get);
    else if (scenario == "close") {
        link_map* map = nullptr;
        dlinfo(library, RTLD_DI_LINKMAP, &map);
        void* const place = reinterpret_cast<void*>(map->l_addr);
        dlclose(library);
        // If the library is gone, it does not come back at the same place.
        mmap(place, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
        close_the_library();
    } else
        return 2;
    return 0;
}
