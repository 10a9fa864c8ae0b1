// Runtime programs that treat their process in the ways that have broken interposers.
#include "counting.hpp"
#include "scenarios.hpp"

#include <csetjmp>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <dlfcn.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>
#include <vector>

namespace {

void mix_frees() {
    void *a = nullptr, *b = nullptr, *c = nullptr;
    std::printf("%d\n", cudaMallocAsync(&a, 4096, nullptr));
    std::printf("%d\n", cudaMalloc(&b, 4096));
    std::printf("%d\n", cudaMalloc(&c, 8192));
    std::printf("%d\n", cudaDeviceSynchronize());
    std::printf("%d\n", cudaFree(a));
    std::printf("%d\n", cudaFreeAsync(b, nullptr));
    std::printf("%d\n", cudaFreeAsync(c, nullptr));
    std::printf("%d\n", cudaFree(static_cast<char*>(c) + 64)); // not the start of anything
    std::printf("%d\n", cudaFree(nullptr));
    std::printf("%d\n", cudaDeviceSynchronize());
}

int child_status(pid_t child) {
    int status = 0;
    waitpid(child, &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

/// Children of every kind, while the parent goes on.
void fork_children() {
    float* x = make();
    launch(x, 10);
    pid_t child = fork();
    if (child == 0)
        std::exit(7); // runs exit handlers and destructors
    std::printf("exit %d\n", child_status(child));
    launch(x, 10);
    child = fork();
    if (child == 0) {
        void* y = nullptr;
        const int answer = cudaMalloc(&y, 4096);
        launch(x, 1);
        // And past the runtime, which refuses without asking the driver.
        using Allocate = int (*)(unsigned long long*, std::size_t);
        const auto allocate =
            reinterpret_cast<Allocate>(dlsym(dlopen("libcuda.so.1", RTLD_NOW), "cuMemAlloc_v2"));
        unsigned long long z = 0;
        for (int i = 0; i < 20000;
             ++i) // more than a chunk of a trace holds: the parent would not overwrite it all
            allocate(&z, 4096);
        std::exit(answer + 10 * allocate(&z, 4096));
    }
    std::printf("cuda %d\n", child_status(child));
    child = fork();
    if (child == 0) {
        execlp("sh", "sh", "-c", "exit 9", nullptr);
        _exit(1);
    }
    std::printf("exec %d\n", child_status(child));
    child = vfork();
    if (child == 0) {
        execlp("sh", "sh", "-c", "exit 10", nullptr);
        _exit(1);
    }
    std::printf("vfork %d\n", child_status(child));
#if defined(__GLIBC__) && __GLIBC_PREREQ(2, 34)
    child = _Fork(); // no atfork handler runs
    if (child == 0)
        std::exit(11);
    std::printf("_Fork %d\n", child_status(child));
#endif
    launch(x, 10);
    finish(x);
}

/// CUDA first in the children: each has its own trace.
void fork_before_cuda() {
    for (int i = 0; i < 2; ++i) {
        const pid_t child = fork();
        if (child == 0) {
            float* x = make();
            launch(x, 10 + i);
            finish(x);
            std::exit(i);
        }
        std::printf("%d\n", child_status(child));
        std::fflush(stdout);
    }
    float* x = make();
    launch(x, 5);
    finish(x);
}

char* volatile guarded = nullptr;
volatile std::sig_atomic_t seen = 0;

void on_signal(int number) {
    seen = seen + number;
}

void on_fault(int, siginfo_t* info, void*) {
    if (info->si_addr != guarded)
        _exit(4);
    mprotect(guarded, 4096, PROT_READ | PROT_WRITE);
    seen = seen + 1000;
}

void handle_signals() {
    struct sigaction usr {
    }, fault{};
    usr.sa_handler = on_signal;
    sigaction(SIGUSR1, &usr, nullptr);
    sigaction(SIGUSR2, &usr, nullptr);
    fault.sa_sigaction = on_fault;
    fault.sa_flags = SA_SIGINFO;
    sigaction(SIGSEGV, &fault, nullptr);
    sigaction(SIGBUS, &fault, nullptr);
    float* x = make();
    launch(x, 100);
    raise(SIGUSR1);
    raise(SIGUSR2);
    guarded = static_cast<char*>(mmap(nullptr, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
    *const_cast<volatile char*>(guarded) = 1;
    void* device = nullptr;
    cudaMalloc(&device, 4096);
    mprotect(guarded, 4096, PROT_READ);
    std::printf("%d\n", cudaMemcpy(device, guarded, 4096, cudaMemcpyHostToDevice));
    launch(x, 100);
    finish(x);
    std::printf("seen %d\n", static_cast<int>(seen));
    for (const int number : {SIGUSR1, SIGUSR2, SIGSEGV, SIGBUS, SIGXFSZ, SIGPIPE}) {
        struct sigaction now {};
        sigaction(number, nullptr, &now);
        std::printf("%d %s\n", number,
                    now.sa_sigaction == on_fault  ? "fault"
                    : now.sa_handler == on_signal ? "signal"
                    : now.sa_handler == SIG_DFL   ? "default"
                                                  : "foreign");
    }
    sigset_t blocked;
    sigprocmask(SIG_SETMASK, nullptr, &blocked);
    int count = 0;
    for (int number = 1; number < 65; ++number)
        count += sigismember(&blocked, number) == 1;
    std::printf("blocked %d\n", count);
}

struct FreedLate {
    float* x = nullptr;
    ~FreedLate() {
        if (x != nullptr) {
            launch(x, 5);
            std::printf("late %d\n", cudaFree(x));
            std::fflush(stdout);
        }
    }
} freed_late;

/// Work is still running when main ends; a destructor frees the memory after it.
void leave_work_running() {
    freed_late.x = make();
    void* device = nullptr;
    static char host[1 << 20];
    cudaMalloc(&device, sizeof host);
    launch(freed_late.x, 20);
    cudaMemcpyAsync(device, host, sizeof host, cudaMemcpyHostToDevice, nullptr);
}

void run_threads() {
    float* x = make();
    for (int round = 0; round < 30; ++round) {
        std::vector<std::thread> threads;
        for (int i = 0; i < 10; ++i)
            threads.emplace_back([x] { launch(x, 10); });
        for (std::thread& thread : threads)
            thread.join();
    }
    std::printf("%d\n", static_cast<int>(cudaDeviceSynchronize()));
}

/// Closes what it did not open, takes the numbers for itself, goes elsewhere, and puts a file in stderr's
/// place.
void close_everything() {
    float* x = make();
    launch(x, 1000);
    mkdir("below", 0700);
    if (chdir("below") != 0)
        std::exit(3);
    for (int number = 3; number < 1024; ++number)
        close(number);
    std::vector<int> mine;
    for (int i = 0; i < 700; ++i)
        mine.push_back(open(("mine." + std::to_string(i)).c_str(), O_RDWR | O_CREAT | O_TRUNC, 0600));
    const int other = open("stderr", O_RDWR | O_CREAT, 0600);
    dup2(other, STDERR_FILENO);
    std::fprintf(stderr, "mine alone\n");
    launch(x, 400000); // more than the first part of a trace holds
    for (const int file : mine) {
        struct stat state {};
        if (file < 0 || fstat(file, &state) != 0 || state.st_size != 0)
            std::printf("file %d: %lld bytes\n", file, static_cast<long long>(state.st_size));
    }
    finish(x);
}

/// From here on no file can grow beyond what the first part of a trace takes.
void fill_disk() {
    float* x = make();
    launch(x, 1);
    const rlimit limit{1500 << 10, 1500 << 10};
    if (setrlimit(RLIMIT_FSIZE, &limit) != 0)
        std::exit(3);
    launch(x, 400000);
    finish(x);
}

void leave(bool by_abort) {
    float* const x = make();
    launch(x, 50);
    finish(x);
    if (by_abort)
        std::abort();
    _exit(5);
}

} // namespace

int main(int argc, char** argv) {
    return run_scenario(argc == 2 ? argv[1] : "", {{"frees", mix_frees},
                                                   {"fork", fork_children},
                                                   {"fork-first", fork_before_cuda},
                                                   {"signals", handle_signals},
                                                   {"late", leave_work_running},
                                                   {"_exit", [] { leave(false); }},
                                                   {"abort", [] { leave(true); }},
                                                   {"threads", run_threads},
                                                   {"close", close_everything},
                                                   {"fill", fill_disk}});
}
