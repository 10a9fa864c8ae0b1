/// Which lines of a program hold its memory.
#pragma once

#include "analyzer/symbols/options.hpp"

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace umadvisor::live {

struct HeldLine {
    std::string place;  ///< "train.cu:41 in main()"
    std::string memory; ///< "device", "managed", "pinned", ...
    std::uint64_t bytes = 0, allocations = 0;
};

/// What is in use at the end of the trace `path`, by the program's own lines and kinds of memory, at most
/// `most`, the largest first. Throws reader::Error where the trace cannot be read.
std::vector<HeldLine> held_lines(const std::string& path, const symbols::Options& options, std::size_t most);

} // namespace umadvisor::live
