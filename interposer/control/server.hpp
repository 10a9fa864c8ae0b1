/// Lets clients of the same user reach the process through a socket, and begins recordings when UMADVISOR_WHEN
/// holds: one thread of our own, which sleeps until there is something to do.
#pragma once

namespace umadvisor::control {

/// Makes the socket and starts the thread; says on stderr why it cannot. Nothing where the options want neither
/// socket nor trigger, and in a process with a filter of system calls. Called once the process has entered
/// CUDA, by a thread that holds no lock of ours.
void begin() noexcept;

/// Wakes the thread, so that it looks at what has changed: a recording that ends by itself, say. Any thread may
/// call it; it does not wait.
void wake() noexcept;

/// Removes the socket and ends the thread once it has answered what it is answering, for which it waits a
/// second at most. Called when the process exits. A load without a server.
void end() noexcept;

/// In a forked child: closes what belongs to the parent.
void forget() noexcept;

} // namespace umadvisor::control
