/// Pinned blocks that the program frees and asks for again. All functions are thread-safe; none is called with
/// a lock of ours.
#pragma once

#include "interposer/act/action.hpp"

namespace umadvisor::act {

/// Up to an eighth of the memory that the host has free for the process is kept. Called once.
void set_pinned_budget() noexcept;

/// Answers with a kept block, or has the driver make one. False: the call is left to the driver.
bool allocate_pinned(HostAllocationScope& asked) noexcept;

/// Keeps the block that the program frees, after the wait that the driver's free makes. False: the call is left
/// to the driver.
bool keep_pinned(FreeingScope& freeing) noexcept;

/// Gives back what the program has not come back for. Called where it has just waited for the current context,
/// since the driver waits for that before it frees.
void free_old_pinned() noexcept;

/// Gives back all blocks; half as much is kept from now on. Returns whether there were any.
bool give_back_pinned() noexcept;

std::uint64_t kept_pinned_bytes() noexcept;

void forget_pinned(std::uint16_t context_number) noexcept;

} // namespace umadvisor::act
