/// Describes this process.
#pragma once

namespace umadvisor::record {

/// Writes the Process record. Once.
void define_process() noexcept;

} // namespace umadvisor::record
