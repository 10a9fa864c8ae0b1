#include "analyzer/cli/prove/cmake_cache.hpp"

#include <fstream>
#include <string>
#include <string_view>

namespace umadvisor::cli {

std::optional<std::filesystem::path> cmake_home(const std::filesystem::path& folder) {
    constexpr std::string_view name = "CMAKE_HOME_DIRECTORY:INTERNAL=";
    std::ifstream cache(folder / "CMakeCache.txt");
    for (std::string line; std::getline(cache, line);)
        if (line.starts_with(name))
            return line.substr(name.size());
    return std::nullopt;
}

} // namespace umadvisor::cli
