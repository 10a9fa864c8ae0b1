#include "analyzer/symbols/user_code.hpp"

#include <algorithm>
#include <cctype>
#include <iterator>
#include <string_view>

namespace umadvisor::symbols {
namespace {

/// File names of libraries begin with one of these, then '.', '-' or a digit.
constexpr std::string_view libraries[] = {
    "libcuda",    "libcudart", "libumadvisor", "libstdc++",       "libgcc_s",         "libc",
    "libpthread", "libdl",     "libm",         "ld-linux-x86-64", "ld-linux-aarch64", "ld",
    "libunwind",  "libcupti",  "libasan",      "libtsan",         "libubsan"};

/// Functions of a statically linked runtime; its private ones carry a hash after these.
constexpr std::string_view runtime_prefixes[] = {
    "__cuda",    "libcudart_static_", "cudart::",    "__nv_cuda", "__device_stub_", "__wrapper__device_stub_",
    "simcuda::", "_ZN7simcuda",       "_ZZN7simcuda"};

bool is_runtime_function(std::string_view function) {
    for (const std::string_view prefix : runtime_prefixes)
        if (function.starts_with(prefix))
            return true;
    // cudaMalloc, also as the template of cuda_runtime.h; cuMemcpyHtoD of a program that wraps the driver.
    return function.size() > 4 && function.starts_with("cuda") &&
           std::isupper(static_cast<unsigned char>(function[4]));
}

bool is_library(std::string_view module) {
    const std::string_view name = module.substr(module.rfind('/') + 1);
    return std::any_of(std::begin(libraries), std::end(libraries), [&](std::string_view library) {
        if (!name.starts_with(library) || name.size() == library.size())
            return false;
        const char next = name[library.size()];
        return next == '.' || next == '-';
    });
}

bool is_system_header(std::string_view file) {
    return file.starts_with("/usr/include/") || file.starts_with("/usr/lib/") ||
           file.starts_with("/usr/local/cuda");
}

} // namespace

bool is_runtime_function(const CodePlace& place) {
    return is_runtime_function(place.function);
}

bool is_user_code(const CodePlace& place) {
    return !is_library(place.module) && !is_runtime_function(place.function) && !is_system_header(place.file);
}

} // namespace umadvisor::symbols
