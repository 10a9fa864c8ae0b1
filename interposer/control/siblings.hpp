/// The user's other processes under umadvisor.
#pragma once

#include "interposer/control/address.hpp"

namespace umadvisor::control {

/// From now on, when the driver has no memory for a call of this process, each of them is asked to give back
/// the memory that its actions keep, and its answer is awaited: at most 20 ms for each of at most 16. `own`:
/// the address of this process, beside which theirs are. Called once.
void ask_siblings_when_memory_lacks(const Address& own) noexcept;

} // namespace umadvisor::control
