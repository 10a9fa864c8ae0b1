#include "analyzer/cli/user_folders.hpp"

#include <cstdlib>
#include <string_view>

namespace umadvisor::cli {
namespace {

std::string folder_in(const char* name) {
    const char* const value = std::getenv(name);
    return value != nullptr && *value == '/' ? value : "";
}

std::string user_folder(const char* variable, const std::string& below_home) {
    if (const std::string folder = folder_in(variable); !folder.empty())
        return folder + "/umadvisor";
    const std::string home = folder_in("HOME");
    return home.empty() ? home : home + below_home + "/umadvisor";
}

} // namespace

std::string cache_folder() {
    return user_folder("XDG_CACHE_HOME", "/.cache");
}

std::string config_folder() {
    return user_folder("XDG_CONFIG_HOME", "/.config");
}

} // namespace umadvisor::cli
