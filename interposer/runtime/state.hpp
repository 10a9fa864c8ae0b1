/// From "loaded" to "recording" to "forward only": the life of the shim in a process.
#pragma once

namespace umadvisor::runtime {

/// The program has entered CUDA (its cuInit succeeded): creates the trace, describes process, driver and
/// devices, starts recording. Does so once; later calls are one load. Any failure: one line on stderr and
/// forward only.
void enter() noexcept;

/// Remembers an answer of cuGetProcAddress that equals no entry point we know. Before the trace exists a
/// bounded number of them is kept.
void note_unknown_lookup(const char* symbol, int version, unsigned long long flags) noexcept;

/// Remembers that the CUDA runtime is in use, and which file holds it. `caller` is an address inside it.
void note_runtime(const void* caller) noexcept;

/// Ends the trace and says where it is. Called when the process exits.
void leave() noexcept;

} // namespace umadvisor::runtime
