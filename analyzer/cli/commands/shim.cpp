#include "analyzer/cli/commands/shim.hpp"

#include <dlfcn.h>
#include <filesystem>

namespace umadvisor::cli {

std::string find_shim() {
    std::error_code failed;
    const auto self = std::filesystem::read_symlink("/proc/self/exe", failed);
    if (failed)
        return {};
    for (const char* folder : {UMADVISOR_SHIM_FOLDER, "../lib", "."}) {
        const auto path =
            std::filesystem::weakly_canonical(self.parent_path() / folder / "libumadvisor.so", failed);
        if (!failed && std::filesystem::is_regular_file(path, failed))
            return path.string();
    }
    return {};
}

std::string shim_trouble(const std::string& shim) {
    if (shim.empty())
        return "libumadvisor.so is not in " UMADVISOR_SHIM_FOLDER
               " or ../lib beside this binary; install both together";
    if (shim.find_first_of(" :") != std::string::npos) // both separate the names in LD_PRELOAD, ld.so(8)
        return shim + ": a space or colon in its path keeps it from being preloaded; move it";
    return {};
}

bool driver_found() {
    return ::dlopen("libcuda.so.1", RTLD_LAZY | RTLD_LOCAL) != nullptr;
}

} // namespace umadvisor::cli
