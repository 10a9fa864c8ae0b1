/// Which file on this machine is the object that ran.
#pragma once

#include "analyzer/symbols/options.hpp"

#include <string>
#include <string_view>
#include <vector>

namespace umadvisor::symbols {

/// Where the object's own file should be: below the sysroot, if there is one.
std::string file_path(std::string_view path, const Options& options);

/// Folders with debug files of installed objects, those of the user first.
std::vector<std::string> debug_folders(const Options& options);

/// Names under which those folders may hold the object or its debug information: .build-id/xx/yyyy.debug and
/// .build-id/xx/yyyy. Empty without a build-id.
std::vector<std::string> build_id_paths(std::string_view build_id, const Options& options);

/// True for a file that can be opened without waiting and read to its end: no FIFO, no device.
bool is_plain_file(const std::string& path);

} // namespace umadvisor::symbols
