/// An allocation as the index has it.
#pragma once

#include "interposer/observe/allocations.hpp"

namespace umadvisor {

inline observe::Allocation made_allocation(std::uint64_t address, std::uint64_t bytes, trace::Memory memory,
                                           std::uint64_t id = observe::allocations().next_id()) {
    return {.id = id, .address = address, .bytes = bytes, .memory = memory};
}

/// The allocation that begins at `address` leaves the index. False where none does.
inline bool erase_allocation(std::uint64_t address) {
    observe::Allocation gone{};
    return observe::allocations().erase(address, gone);
}

} // namespace umadvisor
