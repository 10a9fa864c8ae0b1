/// Reads memory of the process that may not be readable, or is being unmapped by another thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <sys/uio.h>

namespace umadvisor::record {

/// Opens the pipes that the reads go through. Called once, when the trace is made; until then, and where there
/// are none, nothing can be read.
void open_checked_reads() noexcept;

/// The kernel copies, and answers with an error instead of a signal: false. The bytes go through a pipe of
/// ours, with write(2) and read(2): a filter of system calls (seccomp(2)) kills programs for
/// process_vm_readv(2) that never make it themselves. Keeps errno, and is no cancellation point. May wait for
/// other threads' reads.
bool read_checked(void* to, const iovec* from, std::size_t count) noexcept;

inline bool read_checked(void* to, std::uintptr_t from, std::size_t bytes) noexcept {
    const iovec piece{reinterpret_cast<void*>(from), bytes}; // NOLINT(performance-no-int-to-ptr)
    return read_checked(to, &piece, 1);
}

/// The same of one piece, by process_vm_readv(2), which takes a third to a half of the time. Only where
/// may_read_in_one_call() has answered yes.
bool read_in_one_call(void* to, std::uintptr_t from, std::size_t bytes) noexcept;

} // namespace umadvisor::record
