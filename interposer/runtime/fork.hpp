/// A forked child that is to have a trace of its own starts anew, as the shim was before its parent entered
/// CUDA.
#pragma once

namespace umadvisor::runtime {

/// Copies the shim's variables. Before the process enters CUDA: what they refer to by then (options, the
/// driver's addresses) is the child's as well. False where the shim is part of the program itself, or without
/// memory.
bool remember_variables() noexcept;

/// Puts them back: no file, no lock, no id of the parent is left. In the child, whose only thread calls it.
void restore_variables() noexcept;

} // namespace umadvisor::runtime
