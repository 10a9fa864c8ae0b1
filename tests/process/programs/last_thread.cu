/// How a process ends whose first thread ends by itself (pthread_exit(3)), and on which thread its exit
/// handlers run then. Copies long enough for --act stage; no managed memory, whose pages simcuda serves with a
/// thread of its own.
#include "scenarios.hpp"

#include <atomic>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cuda_runtime_api.h>
#include <dlfcn.h>
#include <pthread.h>
#include <string_view>
#include <unistd.h>
#include <vector>

namespace {

thread_local bool used_cuda = false;
bool keep_created = false;
std::vector<pthread_t> created; ///< while that is set

void use_cuda() {
    std::vector<char> host(8 << 20, 'x');
    void* device = nullptr;
    if (cudaMalloc(&device, host.size()) != cudaSuccess)
        std::exit(3);
    for (int i = 0; i < 4; ++i) {
        cudaMemcpy(device, host.data(), host.size(), cudaMemcpyHostToDevice);
        cudaMemcpy(host.data(), device, host.size(), cudaMemcpyDeviceToHost);
    }
    std::printf("copied %c\n", host.back());
    used_cuda = true;
}

int blocked_signals() {
    sigset_t blocked;
    pthread_sigmask(SIG_SETMASK, nullptr, &blocked);
    int count = 0;
    for (int number = 1; number < 65; ++number)
        count += sigismember(&blocked, number) == 1;
    return count;
}

/// Which thread it is shows by its thread-local variables.
void print_thread() {
    std::printf("exit handler: %s, %d signals blocked\n",
                used_cuda ? "of a thread with CUDA" : "of another thread", blocked_signals());
}

void print_signals() {
    std::printf("exit handler: %d signals blocked\n", blocked_signals());
}

void start(void* (*body)(void*)) {
    pthread_t thread;
    if (pthread_create(&thread, nullptr, body, nullptr) != 0)
        std::exit(3);
    pthread_detach(thread);
}

void* work_later(void*) {
    usleep(150'000);
    use_cuda();
    return nullptr;
}

void* wait_a_moment(void*) {
    usleep(150'000);
    return nullptr;
}

[[noreturn]] void leave_first_thread() {
    pthread_exit(nullptr);
}

void first() {
    std::atexit(&print_thread);
    use_cuda();
    leave_first_thread();
}

void worker() {
    std::atexit(&print_thread);
    use_cuda();
    start(&work_later);
    leave_first_thread();
}

/// The first thread has not used CUDA, and the last one neither.
void others() {
    std::atexit(&print_signals);
    start([](void*) -> void* { return use_cuda(), nullptr; });
    start(&wait_a_moment);
    leave_first_thread();
}

/// A thread of the program goes on; a signal that is sent to the process ends it.
void signal_ends() {
    use_cuda();
    std::fflush(stdout);
    start([](void*) -> void* {
        usleep(150'000);
        kill(getpid(), SIGTERM);
        for (;;)
            pause();
    });
    leave_first_thread();
}

/// A thread of the program waits for the signal with sigwait(3), all others block it.
void signal_awaited() {
    sigset_t term;
    sigemptyset(&term);
    sigaddset(&term, SIGTERM);
    pthread_sigmask(SIG_BLOCK, &term, nullptr);
    use_cuda();
    start([](void*) -> void* {
        sigset_t awaited;
        sigemptyset(&awaited);
        sigaddset(&awaited, SIGTERM);
        int got = 0;
        sigwait(&awaited, &got);
        std::printf("got %d\n", got);
        return nullptr;
    });
    usleep(50'000);
    kill(getpid(), SIGTERM);
    leave_first_thread();
}

/// In an exit handler a signal can still end the process.
void signal_in_handler() {
    std::atexit([] {
        std::fflush(stdout);
        kill(getpid(), SIGTERM);
        pause();
    });
    start([](void*) -> void* { return use_cuda(), nullptr; });
    start(&wait_a_moment);
    leave_first_thread();
}

/// simcuda has a thread that serves managed pages, and would keep the process by itself. Once that has been
/// ended, the one that reads the driver's queue is alone.
void managed() {
    std::atexit(&print_thread);
    void* memory = nullptr;
    keep_created = true;
    std::printf("%d\n", static_cast<int>(cudaMallocManaged(&memory, 1 << 20)));
    keep_created = false;
    use_cuda();
    for (const pthread_t thread : created)
        if (char name[16];
            pthread_getname_np(thread, name, sizeof name) == 0 && std::string_view(name) == "simcuda-faults")
            pthread_cancel(thread);
    usleep(100'000);
    leave_first_thread();
}

} // namespace

/// Looked up early: where it is called the loader may not be asked.
const auto real_create = reinterpret_cast<decltype(&pthread_create)>(dlsym(RTLD_NEXT, "pthread_create"));

/// In the place of the library's, also for the driver.
extern "C" int pthread_create(pthread_t* thread, const pthread_attr_t* attributes, void* (*body)(void*),
                              void* argument) {
    const int failed = real_create(thread, attributes, body, argument);
    if (failed == 0 && keep_created)
        created.push_back(*thread);
    return failed;
}

int main(int argc, char** argv) {
    return run_scenario(argc == 2 ? argv[1] : "", {{"first", first},
                                                   {"worker", worker},
                                                   {"others", others},
                                                   {"signal", signal_ends},
                                                   {"awaited", signal_awaited},
                                                   {"handler", signal_in_handler},
                                                   {"managed", managed}});
}
