/// CMakeCache.txt, in which CMake notes the source folder that a build folder was configured for.
#pragma once

#include <filesystem>
#include <optional>

namespace umadvisor::cli {

/// Returns the folder of sources that `folder` was configured to build; nothing: it is no build folder of
/// CMake.
std::optional<std::filesystem::path> cmake_home(const std::filesystem::path& folder);

} // namespace umadvisor::cli
