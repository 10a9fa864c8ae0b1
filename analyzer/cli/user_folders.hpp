/// Where a user's files of umadvisor are kept (XDG base directory specification; a relative path in its
/// variables does not count). Empty: there is no such folder.
#pragma once

#include <string>

namespace umadvisor::cli {

std::string cache_folder();  ///< $XDG_CACHE_HOME/umadvisor or ~/.cache/umadvisor
std::string config_folder(); ///< $XDG_CONFIG_HOME/umadvisor or ~/.config/umadvisor

} // namespace umadvisor::cli
