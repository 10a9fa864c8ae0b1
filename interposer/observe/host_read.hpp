/// Safe reads of the program's memory.
#pragma once

#include "interposer/observe/allocations.hpp"

#include <cstdint>
#include <sys/uio.h>
#include <unistd.h>

namespace umadvisor::observe {

/// The kernel copies, so memory that may not be read or is being unmapped gives an error instead of a signal.
/// It is a write to our own process (process_vm_writev(2)), which was faster than a read, and whose local end
/// may be any memory; a mapping of a device (VM_IO) could not be the remote end of a read.
inline bool read_host(void* held, std::uint64_t bytes, const iovec* from, std::uint64_t count) noexcept {
    const iovec to{held, bytes};
    return process_vm_writev(getpid(), from, count, &to, 1, 0) == static_cast<ssize_t>(bytes);
}

inline bool read_host(void* held, std::uint64_t address, std::uint64_t bytes) noexcept {
    const iovec from{reinterpret_cast<void*>(address), bytes};
    return read_host(held, bytes, &from, 1);
}

/// Whether the bytes of a copy's host end may be read; to be called before each read. They may not if reading
/// is slow (write-combined memory: a hundred times), has side effects (device registers that are registered as
/// I/O memory), or migrates pages (managed memory); nor if the copy extends beyond the allocation that it
/// begins in, since it is not known what is there. Lock-free.
inline bool may_read_host(std::uint64_t address, std::uint64_t bytes) noexcept {
    Allocation allocation{};
    return allocations().find(address, allocation)
               ? allocation.readable && bytes <= allocation.address + allocation.bytes - address
               : !allocations().overlaps(address, address + bytes);
}

} // namespace umadvisor::observe
