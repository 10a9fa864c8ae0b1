/// Processes that start others while they use CUDA, in every way there is.
#include "counting.hpp"

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <dlfcn.h>
#include <sched.h>
#include <spawn.h>
#include <string>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

extern char** environ;

namespace {

char* self = nullptr;

int child_status(pid_t child) {
    int status = 0;
    waitpid(child, &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

/// Asks the driver itself, which refuses; the runtime would not even ask.
int try_cuda(int times) {
    void* const driver = dlopen("libcuda.so.1", RTLD_NOW);
    const auto init = reinterpret_cast<int (*)(unsigned)>(dlsym(driver, "cuInit"));
    const auto allocate =
        reinterpret_cast<int (*)(unsigned long long*, std::size_t)>(dlsym(driver, "cuMemAlloc_v2"));
    int answer = init(0);
    unsigned long long address = 0;
    for (int i = 0; i < times; ++i)
        answer += 10 * allocate(&address, 4096);
    return answer;
}

/// A child, its own child, and one whose thread asks; one that asks nothing.
void be_refused() {
    float* x = make();
    launch(x, 10);
    std::thread busy([x] { launch(x, 20); }); // fork in the middle of somebody else's records
    pid_t child = fork();
    if (child == 0) {
        const int answer = try_cuda(5);
        const pid_t grandchild = fork();
        if (grandchild == 0)
            std::exit(try_cuda(6) & 0x7f);
        std::printf("grandchild %d\n", child_status(grandchild));
        std::fflush(stdout);
        std::exit(answer & 0x7f);
    }
    std::printf("child %d\n", child_status(child));
    std::fflush(stdout);
    child = fork();
    if (child == 0) {
        int one = 0, other = 0;
        std::thread([&one] { one = try_cuda(7); }).join();
        std::thread([&other] { other = try_cuda(7); }).join();
        std::exit((one + other) & 0x7f);
    }
    std::printf("child with threads %d\n", child_status(child));
    std::fflush(stdout);
    child = fork();
    if (child == 0)
        std::exit(9);
    std::printf("child without CUDA %d\n", child_status(child));
    busy.join();
    launch(x, 10);
    finish(x);
}

/// Workers forked by a parent that has not touched CUDA, all let go at once.
void start_together() {
    constexpr int workers = 16;
    int gate[2];
    if (pipe(gate) != 0 || dlopen("libcuda.so.1", RTLD_NOW) == nullptr)
        std::exit(1);
    for (int i = 0; i < workers; ++i)
        if (fork() == 0) {
            char word = 0;
            close(gate[1]);
            const bool opened = read(gate[0], &word, 1) == 0;
            const int answer = try_cuda(0);
            _exit(opened ? answer : 1);
        }
    close(gate[1]);
    int wrong = 0;
    for (int i = 0; i < workers; ++i)
        wrong += child_status(-1) != 0;
    std::printf("together %d\n", wrong);
}

/// Without a copy of the memory, or of the handlers that fork runs.
int start_by_clone(void*) {
    char* const arguments[] = {self, const_cast<char*>("plain"), nullptr};
    execv(self, arguments);
    _exit(127);
}

void start_other(const std::string& way) {
    float* x = make();
    launch(x, 20);
    finish(x);
    char* const arguments[] = {self, const_cast<char*>("plain"), nullptr};
    pid_t child = 0;
    if (way == "exec") {
        execv(self, arguments);
        std::exit(127);
    } else if (way == "spawn") {
        posix_spawn(&child, self, nullptr, nullptr, arguments, environ);
    } else if (way == "vfork") {
        child = vfork();
        if (child == 0) {
            execv(self, arguments);
            _exit(127);
        }
    } else {
        static char stack[1 << 16];
        child = clone(start_by_clone, stack + sizeof stack, CLONE_VM | SIGCHLD, nullptr);
    }
    std::printf("%s %d\n", way.c_str(), child_status(child));
}

} // namespace

int main(int argc, char** argv) {
    self = argv[0];
    const std::string scenario = argc == 2 ? argv[1] : "";
    if (scenario == "refused") {
        be_refused();
    } else if (scenario == "together") {
        start_together();
    } else if (scenario == "plain") {
        float* x = make();
        launch(x, 3);
        finish(x);
    } else {
        start_other(scenario);
    }
    return 0;
}
