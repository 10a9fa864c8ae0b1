/// Threads of umadvisor's own.
#pragma once

namespace umadvisor::runtime {

/// Notes on which cores the process may run, before the program binds its threads to some of them: our threads
/// run on all of them, whichever thread starts them.
void remember_cores() noexcept;

/// How many cores were noted; 0: none, or more than a cpu_set_t has.
unsigned remembered_cores() noexcept;

/// Whether a thread blocks SIGSEGV, SIGBUS, SIGFPE and SIGILL. One that touches the program's memory must not:
/// the program may handle a fault there.
enum class Faults : bool { blocked, unblocked };

/// Starts `body(argument)` on a detached thread that blocks all other signals, so that the program's own
/// threads get them. `name` as in pthread_setname_np(3). False where no thread could be started.
bool start_own_thread(void* (*body)(void*), const char* name, void* argument = nullptr,
                      Faults faults = Faults::blocked) noexcept;

} // namespace umadvisor::runtime
