/// Threads of umadvisor's own. They do not keep the process alive: glibc ends a process with its last thread,
/// whose pthread_exit(3) calls exit(0), so ours end when the program has no thread left.
#pragma once

#include <cstdint>
#include <ctime>

namespace umadvisor::runtime {

/// Notes the program's first thread, by which the others learn that the program may be over. Called by the
/// library's constructor.
void remember_main_thread() noexcept;

/// Notes on which cores the process may run, before the program binds its threads to some of them: our threads
/// run on all of them, whichever thread starts them.
void remember_cores() noexcept;

/// How many cores were noted; 0: none, or more than a cpu_set_t has.
unsigned remembered_cores() noexcept;

/// Whether a thread blocks SIGSEGV, SIGBUS, SIGFPE and SIGILL. One that touches the program's memory must not:
/// the program may handle a fault there.
enum class Faults : bool { blocked, unblocked };

struct OwnThread {
    void (*body)(void* argument) noexcept;
    /// Asks body() to return soon. Called once, by any thread that holds no lock of ours.
    void (*end)(void* argument) noexcept;
    const char* name; ///< as in pthread_setname_np(3)
    void* argument = nullptr;
    Faults faults = Faults::blocked;
    /// The program's first thread is about to end: a thread that sleeps for longer than `longest_sleep` wakes
    /// up, and asks longest_sleep_now(). Called by the first thread, which holds no lock of ours. Null: the
    /// thread never sleeps for so long.
    void (*first_thread_ends)(void* argument) noexcept = nullptr;
};

/// Starts a thread that blocks all other signals, so that the program's own threads get them. False where none
/// could be started.
bool start_own_thread(const OwnThread& thread) noexcept;

/// Whether the calling thread is one of ours.
bool is_own_thread() noexcept;

/// Called by one of our threads of each kind every `longest_sleep` (nanoseconds): if the program has no thread
/// left, asks all of ours to end. A load, until the program's first thread has ended.
void end_if_program_is_over() noexcept;
constexpr std::uint64_t longest_sleep = 50'000'000;

/// How long, in nanoseconds, a thread may sleep that has OwnThread::first_thread_ends. As long as the program's
/// first thread runs the program is not over, and once that thread has recorded anything its end is noticed.
/// Else a look each second is enough: only a program of which neither the first nor the last thread has made a
/// CUDA call lives on for so long.
std::uint64_t longest_sleep_now() noexcept;
constexpr std::uint64_t any_sleep = ~std::uint64_t{0};

/// Notes that the calling thread will call end_before_last_thread().
void note_end_is_seen() noexcept;

/// CLOCK_MONOTONIC so many nanoseconds from now.
timespec end_of_sleep(std::uint64_t nanoseconds) noexcept;

/// Called by a thread of the program's that ends. If no other is left, ours end first, so that it is this one
/// that runs the exit handlers, as it would alone. Else a load or two.
void end_before_last_thread() noexcept;

} // namespace umadvisor::runtime
