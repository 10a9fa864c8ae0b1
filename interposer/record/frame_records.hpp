/// Stacks by frame records: where compilers keep the frame pointer, it leads from each frame to its caller's.
#pragma once

#include <cstdint>

namespace umadvisor::record {

/// Return addresses of the calling thread's frames, the innermost first; how many. No lock, nothing remembered:
/// what it reads was checked to be there. Ends where the chain does, so behind a frame without a record, as
/// code that is generated at run time may have, nothing is sure to follow. Keeps errno.
///
/// For aarch64, where gcc and clang keep the frame pointer by default (AAPCS64, "The Frame Pointer"), as
/// libcudart does, and where systems sign return addresses (PAC): libunwind 1.6 ends at the first of these.
[[gnu::noinline]] int walk_frame_records(void** found, int capacity) noexcept;

/// Whether the eight bytes there can be read; sets errno.
bool can_be_read(std::uintptr_t address) noexcept;

} // namespace umadvisor::record
