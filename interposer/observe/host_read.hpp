/// Reading the program's memory without being able to harm it.
#pragma once

#include "interposer/observe/allocations.hpp"

#include <cstdint>
#include <sys/uio.h>
#include <unistd.h>

namespace umadvisor::observe {

/// The kernel copies from where the program could: what may not be read, or is being unmapped, is an error and
/// no signal. A write to ourselves, whose near end may be any memory (a mapping of a device, VM_IO, could not
/// be the far end), and which was quicker than a read (process_vm_writev(2)).
inline bool read_host(void* held, std::uint64_t bytes, const iovec* from, std::uint64_t count) noexcept {
    const iovec to{held, bytes};
    return process_vm_writev(getpid(), from, count, &to, 1, 0) == static_cast<ssize_t>(bytes);
}

inline bool read_host(void* held, std::uint64_t address, std::uint64_t bytes) noexcept {
    const iovec from{reinterpret_cast<void*>(address), bytes};
    return read_host(held, bytes, &from, 1);
}

/// Whether the bytes that a copy takes from or has brought to host memory may be looked at. All who look ask
/// this first. Not where reading is slow (write-combined memory: a hundred times), changes something (registers
/// of a device that are registered as I/O memory), or moves pages (managed memory); nor where the copy reaches
/// beyond the allocation that it begins in, since nobody knows what is there. Lock-free.
inline bool may_read_host(std::uint64_t address, std::uint64_t bytes) noexcept {
    Allocation allocation{};
    return allocations().find(address, allocation)
               ? allocation.readable && bytes <= allocation.address + allocation.bytes - address
               : !allocations().overlaps(address, address + bytes);
}

} // namespace umadvisor::observe
