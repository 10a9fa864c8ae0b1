/// Which of the program's memory may be read.
#pragma once

#include "interposer/observe/allocations.hpp"

#include <cstdint>

namespace umadvisor::observe {

/// Whether the bytes of a copy's host end may be read, with record::read_checked(); to be called before each
/// read. They may not if reading
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
