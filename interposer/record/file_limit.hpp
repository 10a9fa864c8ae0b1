/// Writes to files under the program's limit on file sizes.
#pragma once

#include <cstddef>
#include <cstdint>

namespace umadvisor::record {

/// Whether the process may write so far into a regular file. Beyond RLIMIT_FSIZE the kernel sends SIGXFSZ,
/// whose default is death (setrlimit(2)): so ask first.
bool is_within_limit(std::uint64_t end) noexcept;

/// Makes one write(2), unless it would end beyond the limit. Returns whether all was written.
bool write_within_limit(int descriptor, const void* data, std::size_t bytes) noexcept;

} // namespace umadvisor::record
