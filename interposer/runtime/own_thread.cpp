#include "interposer/runtime/own_thread.hpp"

#include <initializer_list>
#include <pthread.h>
#include <sched.h>
#include <signal.h>

namespace umadvisor::runtime {

namespace {

cpu_set_t cores; ///< none: not known

} // namespace

void remember_cores() noexcept {
    if (sched_getaffinity(0, sizeof cores, &cores) != 0)
        CPU_ZERO(&cores);
}

unsigned remembered_cores() noexcept {
    return static_cast<unsigned>(CPU_COUNT(&cores));
}

/// The stack is address space only; it holds every loaded object's thread-local storage too.
bool start_own_thread(void* (*body)(void*), const char* name, void* argument, Faults faults) noexcept {
    sigset_t all, before;
    sigfillset(&all);
    if (faults == Faults::unblocked)
        for (const int fault : {SIGSEGV, SIGBUS, SIGFPE, SIGILL})
            sigdelset(&all, fault);
    pthread_attr_t attributes;
    if (pthread_attr_init(&attributes) != 0)
        return false;
    pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
    pthread_attr_setstacksize(&attributes, 1 << 20);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    pthread_t thread;
    if (remembered_cores() != 0)
        pthread_attr_setaffinity_np(&attributes, sizeof cores, &cores);
    const bool started = pthread_create(&thread, &attributes, body, argument) == 0;
    if (started)
        pthread_setname_np(thread, name);
    pthread_sigmask(SIG_SETMASK, &before, nullptr);
    pthread_attr_destroy(&attributes);
    return started;
}

} // namespace umadvisor::runtime
