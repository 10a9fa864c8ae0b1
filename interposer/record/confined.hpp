/// Filters of system calls (seccomp(2)) that a program installs after it has entered CUDA.
#pragma once

namespace umadvisor::record {

/// Remembers how many filters there are: they were there when the program entered CUDA, and have to let our
/// calls pass. Called once, when the trace is made.
void remember_filters() noexcept;

/// True if the calling thread has got a filter since remember_filters(). Such a filter may kill the process for
/// a call that the program itself does not make, so from here on we make only the calls that docs/recording.md
/// lists. The question costs three of those calls and 5 to 10 us, until the answer is "yes", which is kept for
/// good.
bool is_confined() noexcept;

/// True if the calling thread may surely call process_vm_readv(2), which few filters allow: the thread has no
/// filter, or only the container's, which process 1 has, too. Docker's and Podman's default profiles answer
/// calls that they do not allow with an error. The question costs as much as is_confined().
bool may_read_in_one_call() noexcept;

} // namespace umadvisor::record
