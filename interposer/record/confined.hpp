/// Filters of system calls (seccomp(2)) that a program installs after it has entered CUDA.
#pragma once

namespace umadvisor::record {

/// Remembers how many filters there are: container runtimes install some before the program starts, and what we
/// have done until now passes them. Called once, when the trace is made.
void remember_filters() noexcept;

/// Whether the calling thread has another filter since then. It may kill the process for a call that the
/// program itself does not make, so nothing but the calls that docs/recording.md lists may be made from here
/// on. To find out takes three of those, and 5 to 10 us; the answer "yes" holds for good, and costs nothing.
bool is_confined() noexcept;

} // namespace umadvisor::record
