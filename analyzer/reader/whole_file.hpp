/// Files that are read whole.
#pragma once

#include <cstdint>
#include <string>

namespace umadvisor::reader {

/// All of a regular file of `most` bytes at the most. Waits for no writer of a FIFO. Throws Error, one line: no
/// such file, no regular one, too large, or a device that fails.
std::string read_whole_file(const std::string& path, std::uint64_t most);

} // namespace umadvisor::reader
