/// The program's limit on file sizes.
#pragma once

#include <cstdint>

namespace umadvisor::record {

/// Whether the process may write so far into a regular file. Beyond RLIMIT_FSIZE the kernel sends SIGXFSZ,
/// whose default is death (setrlimit(2)): so ask first.
bool is_within_limit(std::uint64_t end) noexcept;

} // namespace umadvisor::record
