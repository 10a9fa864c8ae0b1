#include "analyzer/cli/shim.hpp"

#include <dlfcn.h>
#include <filesystem>

namespace umadvisor::cli {

std::string find_shim() {
    std::error_code failed;
    const auto self = std::filesystem::read_symlink("/proc/self/exe", failed);
    if (failed)
        return {};
    for (const char* folder : {"../lib", "."}) {
        const auto path =
            std::filesystem::weakly_canonical(self.parent_path() / folder / "libumadvisor.so", failed);
        if (!failed && std::filesystem::is_regular_file(path, failed))
            return path.string();
    }
    return {};
}

bool driver_found() {
    return ::dlopen("libcuda.so.1", RTLD_LAZY | RTLD_LOCAL) != nullptr;
}

} // namespace umadvisor::cli
