/// Filters of system calls (seccomp(2)) that a program installs after it has entered CUDA.
#pragma once

namespace umadvisor::record {

/// Remembers how many filters there are. Container runtimes install some before the program starts; our calls
/// pass these, since we have made them all by then. Called once, when the trace is made.
void remember_filters() noexcept;

/// Whether the calling thread has got another filter since then. Such a filter may kill the process for a call
/// that the program itself does not make, so from here on we make only the calls that docs/recording.md lists.
/// The question costs three of those calls and 5 to 10 us, until the answer is "yes", which is kept for good.
bool is_confined() noexcept;

} // namespace umadvisor::record
