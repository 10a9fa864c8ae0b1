#include "interposer/record/python_interpreter.hpp"

#include "interposer/base/text.hpp"
#include "interposer/record/lock_check.hpp"
#include "interposer/record/modules.hpp"
#include "interposer/record/off_stack.hpp"

#include <climits>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <dlfcn.h>
#include <link.h>
#include <string_view>

namespace umadvisor::record {
namespace {

constexpr std::uint32_t oldest = 0x0309, first_with_offsets = 0x030d, newest = 0x030e;

template <class Function>
bool bind(void* handle, const char* symbol, Function& function) noexcept {
    function = reinterpret_cast<Function>(dlsym(handle, symbol));
    return function != nullptr;
}

bool bind(void* handle, const char* symbol, std::uintptr_t& address) noexcept {
    address = reinterpret_cast<std::uintptr_t>(dlsym(handle, symbol));
    return address != 0;
}

/// As in PY_VERSION_HEX. Py_Version is there from 3.11 on.
std::uint32_t version_of(void* handle) noexcept {
    if (const void* const version = dlsym(handle, "Py_Version")) {
        unsigned long value = 0;
        std::memcpy(&value, version, sizeof value);
        return static_cast<std::uint32_t>(value);
    }
    const char* (*text)() = nullptr;
    if (!bind(handle, "Py_GetVersion", text))
        return 0;
    char* end = nullptr;
    const unsigned long major = std::strtoul(text(), &end, 10);
    const unsigned long minor = *end == '.' ? std::strtoul(end + 1, &end, 10) : 0;
    const unsigned long micro = *end == '.' ? std::strtoul(end + 1, &end, 10) : 0;
    return static_cast<std::uint32_t>(major << 24 | minor << 16 | micro << 8);
}

/// Keeps an object loaded that we call or read, even if the program closes it.
void keep_loaded(const void* address) noexcept {
    Dl_info info;
    if (dladdr(address, &info) != 0)
        dlopen(info.dli_fname, RTLD_LAZY | RTLD_NOLOAD | RTLD_NODELETE);
}

PythonFound look_into(void* handle, PythonInterpreter& interpreter, const char*& trouble) noexcept {
    if (dlsym(handle, "pypy_setup_home") != nullptr) {
        std::snprintf(interpreter.implementation, sizeof interpreter.implementation, "PyPy");
        trouble = "not CPython";
        return PythonFound::unreadable;
    }
    if (!bind(handle, "PyGILState_GetThisThreadState", interpreter.this_thread) ||
        !bind(handle, "PyCode_Type", interpreter.code_type) ||
        !bind(handle, "PyUnicode_Type", interpreter.text_type) ||
        !bind(handle, "PyBytes_Type", interpreter.bytes_type))
        return PythonFound::nothing;
    const std::uint32_t version = version_of(handle);
    std::snprintf(interpreter.implementation, sizeof interpreter.implementation, "CPython %u.%u.%u",
                  version >> 24, version >> 16 & 0xff, version >> 8 & 0xff);
    interpreter.module = module_map.id(interpreter.code_type);
    if (!bind(handle, "_PyThreadState_UncheckedGet", interpreter.attached) &&
        !bind(handle, "PyThreadState_GetUnchecked", interpreter.attached)) // 3.13
        interpreter.attached = nullptr;
    if (!bind(handle, "_Py_IsFinalizing", interpreter.finalizing) &&
        !bind(handle, "Py_IsFinalizing", interpreter.finalizing)) // 3.13
        interpreter.finalizing = nullptr;
    trouble = nullptr;
    if (version >> 16 < oldest) {
        trouble = "older than 3.9";
    } else if (version >> 16 > newest) {
        trouble = "newer than 3.14";
    } else if (const PythonLayout* const layout = layout_of(version)) {
        interpreter.layout = *layout;
    } else {
        static_assert(first_with_offsets == 0x030d);
        const void* const runtime = dlsym(handle, "_PyRuntime");
        trouble = runtime == nullptr ? "it hides where its frames are"
                                     : read_debug_offsets(static_cast<const std::uint64_t*>(runtime), version,
                                                          interpreter.layout);
    }
    keep_loaded(reinterpret_cast<const void*>(interpreter.code_type)); // NOLINT(performance-no-int-to-ptr)
    return trouble == nullptr ? PythonFound::readable : PythonFound::unreadable;
}

/// Names of objects that a plug-in may have loaded with RTLD_LOCAL.
struct Candidates {
    static constexpr int most = 4;
    char path[most][PATH_MAX];
    int count = 0;
};

int note_candidate(dl_phdr_info* object, std::size_t, void* to) noexcept {
    auto& candidates = *static_cast<Candidates*>(to);
    const std::string_view path(object->dlpi_name);
    const std::string_view name = base::after(path, path.rfind('/') + 1);
    if ((name.starts_with("libpython3.") || name.starts_with("libpypy3")) && path.size() < PATH_MAX &&
        candidates.count < Candidates::most) {
        char* const copy = candidates.path[candidates.count++];
        std::memcpy(copy, path.data(), path.size());
        copy[path.size()] = '\0';
    }
    return 0;
}

} // namespace

PythonFound find_python(PythonInterpreter& interpreter, const char*& trouble) noexcept {
    assert_no_lock("dlsym");
    if (const PythonFound found = look_into(RTLD_DEFAULT, interpreter, trouble); found != PythonFound::nothing)
        return found;
    const OffStack<Candidates> candidates;
    dl_iterate_phdr(&note_candidate, &*candidates);
    for (int i = 0; i < candidates->count; ++i) {
        void* const handle = dlopen(candidates->path[i], RTLD_LAZY | RTLD_NOLOAD);
        if (handle == nullptr)
            continue;
        const PythonFound found = look_into(handle, interpreter, trouble);
        dlclose(handle);
        if (found != PythonFound::nothing)
            return found;
    }
    return PythonFound::nothing;
}

} // namespace umadvisor::record
