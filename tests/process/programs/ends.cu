/// How processes end, and what they take away from under a trace.
#include "counting.hpp"

#include <atomic>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <dlfcn.h>
#include <fcntl.h>
#include <string>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>
#include <vector>

namespace {

float* kept = nullptr;

void free_late() {
    launch(kept, 3);
    std::printf("late %d\n", static_cast<int>(cudaFree(kept)));
    std::fflush(stdout);
}

/// A handler from before CUDA runs after the runtime's own, one from after it runs before.
void leave_handlers(bool quick) {
    if (quick)
        std::at_quick_exit(&free_late);
    else
        std::atexit(&free_late);
    kept = make();
    if (quick)
        std::at_quick_exit([] { launch(kept, 2); });
    else
        std::atexit([] { launch(kept, 2); });
    launch(kept, 10);
    finish(kept);
    if (quick)
        std::quick_exit(6);
    std::exit(7);
}

/// Threads go on launching while the process ends around them.
void leave_threads_running() {
    float* x = make();
    static std::atomic<int> started{0};
    for (int i = 0; i < 4; ++i)
        std::thread([x] {
            launch(x, 1);
            ++started;
            for (;;) {
                LAUNCH(count_up, 1, 1, nullptr, DevicePtr<float>(x));
                void* y = nullptr;
                if (cudaMalloc(&y, 64) == cudaSuccess)
                    cudaFree(y);
            }
        }).detach();
    while (started < 4)
        std::this_thread::yield();
    launch(x, 500);
    std::puts("leaving");
}

void run_threads() {
    float* x = make();
    for (int round = 0; round < 300; ++round) {
        std::vector<std::thread> threads;
        for (int i = 0; i < 10; ++i)
            threads.emplace_back([x] { launch(x, 1); });
        for (std::thread& thread : threads)
            thread.join();
    }
    std::printf("%d\n", static_cast<int>(cudaDeviceSynchronize()));
}

std::string folder_of(const char* program) {
    const std::string path = program;
    return path.substr(0, path.rfind('/') + 1);
}

/// One plug-in after the other, at the same place if the loader likes it.
void reload(const char* program) {
    float* x = make();
    launch(x, 1);
    for (int round = 0; round < 4; ++round) {
        const char* const name = round % 2 == 0 ? "plugins/libreload_first.so" : "plugins/libreload_second.so";
        void* const plugin = dlopen((folder_of(program) + name).c_str(), RTLD_NOW);
        if (plugin == nullptr)
            std::exit(4);
        using Allocate = int (*)(void**, std::size_t);
        const auto allocate = reinterpret_cast<Allocate>(dlsym(plugin, "allocate_for_plugin"));
        void* memory = nullptr;
        for (int i = 0; i < 3; ++i)
            std::printf("%d\n", allocate(&memory, static_cast<std::size_t>(round % 2 + 1) << 20));
        dlclose(plugin);
    }
    finish(x);
}

std::size_t address_space() {
    std::size_t pages = 0;
    if (std::FILE* const file = std::fopen("/proc/self/statm", "r")) {
        if (std::fscanf(file, "%zu", &pages) != 1)
            pages = 0;
        std::fclose(file);
    }
    return pages * static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
}

void lower_limits() {
    float* x = make();
    launch(x, 10);
    const std::size_t in_use = address_space();
    const auto lower = [](auto which, rlim_t to) {
        const rlimit limit{to, to};
        setrlimit(which, &limit);
    };
    lower(RLIMIT_NOFILE, 4);
    lower(RLIMIT_NPROC, 1);
    lower(RLIMIT_STACK, 256 << 10);
    lower(RLIMIT_MEMLOCK, 0);
    lower(RLIMIT_CORE, 0);
    lower(RLIMIT_AS, in_use + (3 << 20)); // less than a trace asks for at a time
    launch(x, 400000);
    finish(x);
}

/// Removes whatever trace there is, then itself from where it was.
void lose_the_file(const std::string& how) {
    float* x = make();
    launch(x, 10);
    if (how == "deleted") {
        unlink("here/x.umtrace");
        rmdir("here");
    }
    close_range(3, ~0U, 0);
    if (how == "nobody" && (setgid(65534) != 0 || setuid(65534) != 0))
        std::exit(3);
    if (how == "chroot" && (mkdir("jail", 0700) != 0 || chroot("jail") != 0 || chdir("/") != 0))
        std::exit(3);
    launch(x, 400000);
    finish(x);
}

void use_cuda_without_atfork() {
    float* x = make();
    launch(x, 10);
#if defined(__GLIBC__) && __GLIBC_PREREQ(2, 34)
    const pid_t child = _Fork();
    if (child == 0) {
        void* const driver = dlopen("libcuda.so.1", RTLD_NOW);
        const auto allocate =
            reinterpret_cast<int (*)(unsigned long long*, std::size_t)>(dlsym(driver, "cuMemAlloc_v2"));
        unsigned long long address = 0;
        for (int i = 0; i < 20000; ++i)
            allocate(&address, 64);
        std::exit(0);
    }
    int status = 0;
    waitpid(child, &status, 0);
    std::printf("%d\n", status);
#endif
    launch(x, 10);
    finish(x);
}

} // namespace

int main(int argc, char** argv) {
    const std::string scenario = argc == 2 ? argv[1] : "";
    if (scenario == "quick_exit" || scenario == "atexit") {
        leave_handlers(scenario == "quick_exit");
    } else if (scenario == "SIGTERM") {
        float* x = make();
        launch(x, 50);
        finish(x);
        raise(SIGTERM);
    } else if (scenario == "busy") {
        leave_threads_running();
    } else if (scenario == "threads") {
        run_threads();
    } else if (scenario == "reload") {
        reload(argv[0]);
    } else if (scenario == "limits") {
        lower_limits();
    } else if (scenario == "plain") {
        float* x = make();
        launch(x, 400000);
        finish(x);
    } else if (scenario == "_Fork") {
        use_cuda_without_atfork();
    } else {
        lose_the_file(scenario);
    }
    return 0;
}
