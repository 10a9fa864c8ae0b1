#include "interposer/runtime/own_thread.hpp"

#include "interposer/base/small_file.hpp"

#include <algorithm>
#include <atomic>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <initializer_list>
#include <pthread.h>
#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace umadvisor::runtime {

namespace {

cpu_set_t cores; ///< none: not known

constexpr clockid_t no_clock = 0; ///< no thread's
pthread_t main_thread;
clockid_t main_clock = no_clock; ///< then it is not known which thread is the first
pid_t main_process = 0;

/// A thread of ours. A slot is used once.
struct Slot {
    OwnThread what;
    sigset_t creators_signals;
    pthread_t thread;
    std::atomic<bool> started;
};
constexpr unsigned most_threads = 32;
constinit Slot slots[most_threads]{};
constinit std::atomic<unsigned> slots_used{0};
constinit std::atomic<long> running{0}; ///< threads of ours
constinit std::atomic<bool> over{false};
constinit std::atomic<bool> last_thread_waits{false}; ///< for ours
constinit std::atomic<bool> first_end_is_seen{false}; ///< the first thread will call end_before_last_thread()
constinit std::atomic<bool> first_has_ended{false};   ///< it has called it

constinit thread_local bool own = false;

unsigned used() {
    return std::min(slots_used.load(), most_threads);
}

clockid_t clock_of(pthread_t thread) {
    clockid_t clock = no_clock;
    return pthread_getcpuclockid(thread, &clock) == 0 ? clock : no_clock;
}

/// Reads memory alone: the kernel clears a thread's id in its descriptor when the thread ends
/// (set_tid_address(2)), and the descriptor of the first thread is never freed.
bool main_thread_runs() {
    return main_clock != no_clock && clock_of(main_thread) == main_clock;
}

/// Whether the process has no more threads than ours and `others`, of which the first is one: it counts until
/// the process ends, as a zombie. The driver's threads count as the program's: they are there without us, too,
/// and keep the process. Where /proc cannot be read (chroot(2)) the answer is yes: our threads end with the
/// first one, and so we see less, but the program nothing.
bool only_ours_are_left(long others, bool first_runs) {
    base::SmallFile<512> file;
    if (!file.read("/proc/self/stat"))
        return true;
    // proc(5): "number (name) state ...". The count of threads is the 20th field.
    const std::string_view stat = file.view();
    std::size_t at = stat.rfind(')') + 1;
    if (at == 0 || (!first_runs && std::strncmp(file.bytes + at, " Z", 2) != 0))
        return false;
    for (int field = 3; field < 20; ++field)
        at = stat.find(' ', at + 1);
    return at < stat.size() && std::strtol(file.bytes + at, nullptr, 10) <= running.load() + others;
}

void wake_long_sleepers() {
    first_has_ended.store(true);
    for (unsigned i = 0; i < used(); ++i)
        if (slots[i].started.load() && slots[i].what.first_thread_ends != nullptr)
            slots[i].what.first_thread_ends(slots[i].what.argument);
}

bool is_first_thread() {
    return main_clock != no_clock && pthread_equal(pthread_self(), main_thread) != 0;
}

/// Only the first call does anything.
void end_all() {
    if (over.exchange(true))
        return;
    for (unsigned i = 0; i < used(); ++i)
        if (slots[i].started.load())
            slots[i].what.end(slots[i].what.argument);
}

void* begin(void* its_slot) {
    Slot& slot = *static_cast<Slot*>(its_slot);
    own = true;
    ++running; // not by its creator: a thread that is not there yet must not be counted
    slot.what.body(slot.what.argument);
    own = false; // exit handlers are the program's
    if (!over.load())
        --running;
    else if (!last_thread_waits.load()) // then the last of us runs the exit handlers, and a signal may end them
        pthread_sigmask(SIG_SETMASK, &slot.creators_signals, nullptr);
    return nullptr;
}

bool create(Slot& slot) {
    sigset_t all;
    sigfillset(&all);
    if (slot.what.faults == Faults::unblocked)
        for (const int fault : {SIGSEGV, SIGBUS, SIGFPE, SIGILL})
            sigdelset(&all, fault);
    pthread_attr_t attributes;
    if (pthread_attr_init(&attributes) != 0)
        return false;
    // The stack is address space only; it holds every loaded object's thread-local storage too.
    pthread_attr_setstacksize(&attributes, 1 << 20);
    pthread_sigmask(SIG_SETMASK, &all, &slot.creators_signals);
    if (remembered_cores() != 0)
        pthread_attr_setaffinity_np(&attributes, sizeof cores, &cores);
    const bool started = pthread_create(&slot.thread, &attributes, &begin, &slot) == 0;
    if (started)
        pthread_setname_np(slot.thread, slot.what.name);
    pthread_sigmask(SIG_SETMASK, &slot.creators_signals, nullptr);
    pthread_attr_destroy(&attributes);
    return started;
}

} // namespace

void remember_main_thread() noexcept {
    first_end_is_seen.store(false);
    first_has_ended.store(false);
    main_process = getpid();
    main_thread = pthread_self();
    main_clock = syscall(SYS_gettid) == main_process ? clock_of(main_thread) : no_clock;
}

void remember_cores() noexcept {
    if (sched_getaffinity(0, sizeof cores, &cores) != 0)
        CPU_ZERO(&cores);
}

unsigned remembered_cores() noexcept {
    return static_cast<unsigned>(CPU_COUNT(&cores));
}

bool is_own_thread() noexcept {
    return own;
}

bool start_own_thread(const OwnThread& thread) noexcept {
    if (main_process != getpid()) // a forked child, whose first thread is the one that has forked
        remember_main_thread();
    const unsigned number = slots_used.fetch_add(1);
    if (number >= most_threads)
        return false;
    slots[number].what = thread;
    slots[number].started.store(create(slots[number]));
    return slots[number].started.load();
}

void end_if_program_is_over() noexcept {
    if (!over.load() && !main_thread_runs() && only_ours_are_left(1, false))
        end_all();
}

std::uint64_t longest_sleep_now() noexcept {
    constexpr std::uint64_t second = 1'000'000'000;
    if (first_has_ended.load() || !main_thread_runs())
        return longest_sleep;
    return first_end_is_seen.load() ? any_sleep : second;
}

void note_end_is_seen() noexcept {
    if (is_first_thread())
        first_end_is_seen.store(true);
}

timespec end_of_sleep(std::uint64_t nanoseconds) noexcept {
    timespec end{};
    clock_gettime(CLOCK_MONOTONIC, &end);
    nanoseconds += static_cast<std::uint64_t>(end.tv_nsec);
    end.tv_sec += static_cast<std::time_t>(nanoseconds / 1'000'000'000);
    end.tv_nsec = static_cast<long>(nanoseconds % 1'000'000'000);
    return end;
}

void end_before_last_thread() noexcept {
    if (used() == 0 || over.load())
        return;
    const bool first = is_first_thread();
    if (first)
        wake_long_sleepers();
    if ((main_thread_runs() && !first) || !only_ours_are_left(first ? 1 : 2, first))
        return;
    last_thread_waits.store(true);
    end_all();
    timespec until{};
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_sec += 1; // those that have not ended then end later, and the last of them runs the exit handlers
    for (unsigned i = 0; i < used(); ++i)
        if (slots[i].started.load())
            pthread_timedjoin_np(slots[i].thread, nullptr, &until);
}

} // namespace umadvisor::runtime
