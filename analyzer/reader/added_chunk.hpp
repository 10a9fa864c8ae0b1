/// Adding to a trace that was written.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace umadvisor::reader {

/// Adds a dictionary chunk with these encoded records behind the last chunk. The chunk is written before it is
/// counted, so that what fails or is killed leaves the trace as it was. Throws Error: the trace's program still
/// runs, some of the trace is lost, or it cannot be written to.
void add_definitions(const std::string& path, const std::vector<std::uint8_t>& records);

} // namespace umadvisor::reader
