/// From "loaded" to "recording" to "forward only": the life of the shim in a process.
#pragma once

namespace umadvisor::runtime {

/// The program has entered CUDA (its cuInit succeeded): creates the trace, describes process, driver and
/// devices, starts recording. Done once; later calls are one load. After a failure: one line on stderr, and
/// calls are only forwarded.
void enter() noexcept;

/// Whether this is a forked child of a process that had entered CUDA, with a trace of its own. The driver
/// refuses all calls of such a child; its trace has these refusals.
bool is_followed_child() noexcept;

/// Notes an answer of cuGetProcAddress that equals no known entry point. Before the trace exists a bounded
/// number of them is kept.
void note_unknown_lookup(const char* symbol, int version, unsigned long long flags) noexcept;

/// Notes the version of CUDA that an address was asked for with. Safe in any thread; takes no lock.
void note_lookup(int version) noexcept;

/// Notes that the CUDA runtime is in use, and its file. `caller` is an address in it.
void note_runtime(const void* caller) noexcept;

/// Ends the trace and says where it is. Called when the process exits.
void leave() noexcept;

} // namespace umadvisor::runtime
