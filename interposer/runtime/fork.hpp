/// Restores the shim's state from before CUDA was entered, for a forked child that gets a trace of its own.
#pragma once

namespace umadvisor::runtime {

/// Copies the shim's variables, before the process enters CUDA: what they refer to then (options, the driver's
/// addresses) is valid in the child, too. False if the shim is part of the program itself, or without memory.
bool remember_variables() noexcept;

/// Puts the variables back, so that no file, lock or id of the parent is left. Called by the only thread of the
/// child.
void restore_variables() noexcept;

} // namespace umadvisor::runtime
