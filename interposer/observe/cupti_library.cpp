#include "interposer/observe/cupti_library.hpp"

#include "interposer/attach/driver.hpp"
#include "interposer/record/loader_use.hpp"
#include "interposer/record/lock_check.hpp"
#include "interposer/record/off_stack.hpp"

#include <climits>
#include <cstdio>
#include <dlfcn.h>
#include <string_view>

namespace umadvisor::observe {

namespace cupti = residency::cupti;

namespace {

/// NVIDIA's CUPTI goes through private tables of NVIDIA's driver; simcuda has a CUPTI of its own.
bool fits_driver(void* library) {
    return attach::simulated_tools() == nullptr || attach::look_up(library, "simcuda_cupti") != nullptr;
}

void* try_open(const char* name, int flags) {
    void* const library = dlopen(name, RTLD_NOW | RTLD_LOCAL | flags);
    if (library == nullptr || fits_driver(library))
        return library;
    dlclose(library);
    return nullptr;
}

void* open_beside() {
    Dl_info own;
    struct Path {
        char text[PATH_MAX];
    };
    const record::OffStack<Path> buffer;
    char* const path = buffer->text;
    if (dladdr(reinterpret_cast<const void*>(&open_beside), &own) == 0)
        return nullptr;
    const std::string_view file = own.dli_fname;
    const std::size_t folder = file.rfind('/') + 1; // 0: the program itself, as it was called
    const int length =
        std::snprintf(path, sizeof(Path), "%.*s%s", static_cast<int>(folder), file.data(), cupti::bundled);
    return folder != 0 && length < static_cast<int>(sizeof(Path)) ? try_open(path, 0) : nullptr;
}

/// Two copies of CUPTI in one process would both want its seat: the program's own comes first.
void* open_library() {
    for (const int flags : {RTLD_NOLOAD, 0})
        for (const char* const name : cupti::names)
            if (void* const library = try_open(name, flags))
                return library;
    if (void* const library = open_beside())
        return library;
    for (const char* const place : cupti::places)
        if (void* const library = try_open(place, 0))
            return library;
    return nullptr;
}

template <class Function>
bool bind(void* library, const char* symbol, Function& function) {
    function = reinterpret_cast<Function>(attach::look_up(library, symbol));
    return function != nullptr;
}

bool bind_all(void* from, CuptiLibrary& to) {
    return bind(from, "cuptiGetVersion", to.version) && bind(from, "cuptiSubscribe", to.subscribe) &&
           bind(from, "cuptiUnsubscribe", to.unsubscribe) &&
           bind(from, "cuptiActivityRegisterCallbacks", to.register_callbacks) &&
           bind(from, "cuptiActivityConfigureUnifiedMemoryCounter", to.configure) &&
           bind(from, "cuptiActivityEnable", to.enable) && bind(from, "cuptiActivityDisable", to.disable) &&
           bind(from, "cuptiActivityGetNextRecord", to.next_record) &&
           bind(from, "cuptiActivityGetNumDroppedRecords", to.dropped_records) &&
           bind(from, "cuptiActivityFlushAll", to.flush) && bind(from, "cuptiGetTimestamp", to.timestamp) &&
           bind(from, "cuptiGetResultString", to.result_text);
}

} // namespace

const char* load_cupti(CuptiLibrary& library) noexcept {
    record::assert_no_lock("dlopen");
    const record::LoaderUse use;
    if (!use)
        return "CUPTI cannot be loaded while the process is being forked";
    void* const handle = open_library();
    if (handle == nullptr)
        return "libcupti is not found (LD_LIBRARY_PATH can name its folder)";
    if (!bind_all(handle, library))
        return "libcupti lacks a function";
    attach::leave_alone(reinterpret_cast<const void*>(library.version));
    std::uint32_t version = 0;
    if (library.version(&version) != cupti::success || !cupti::knows(version)) {
        static char unknown[96];
        std::snprintf(unknown, sizeof unknown,
                      "libcupti is of version %u, whose records are not known (those of %s are)", version,
                      cupti::known_releases.data());
        return unknown;
    }
    return nullptr;
}

} // namespace umadvisor::observe
