/// The shim's messages: single lines on stderr, prefixed with "umadvisor: ".
#pragma once

namespace umadvisor::runtime {

/// Notes which file stderr is. Called by the library's constructor.
void remember_stderr() noexcept;

/// Writes one line (printf format, at most 1 KiB) with a single write(2) to the stderr that the process had at
/// start, unless UMADVISOR_QUIET=1. Where it has no reader, or is full, the line is dropped. Preserves errno,
/// raises no signal, does not wait. Thread-safe, allocates nothing, throws nothing.
void say(const char* format, ...) noexcept __attribute__((format(printf, 1, 2)));

} // namespace umadvisor::runtime
