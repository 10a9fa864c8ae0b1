// Starts CUDA, then lets only the system calls pass that docs/recording.md lists, and goes on: the kernel kills
// it for any other, or refuses that.
//   confined kill|refuse [managed]
// Or the filter is there before CUDA, and kills for reading memory as debuggers do:
//   confined early
#include "tools/simcuda/portable.hpp"

#include <cerrno>
#include <cstddef>
#include <cstdio>
#include <cstring>
#include <iterator>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <thread>
#include <unistd.h>
#include <vector>

KERNEL scale(DevicePtr<float> x, int n) {
    for (int i = 0; i < n; ++i)
        x[i] = 2 * x[i] + 1;
}

namespace {

/// "Calls for the program's own threads" in docs/recording.md.
constexpr int listed[] = {
    SYS_read,          SYS_write,           SYS_openat,         SYS_close, SYS_fcntl,  SYS_mmap,
    SYS_mprotect,      SYS_munmap,          SYS_madvise,        SYS_futex, SYS_getpid, SYS_gettid,
    SYS_clock_gettime, SYS_clock_nanosleep, SYS_rt_sigprocmask, SYS_prctl,
};

/// "Watching managed memory" there; ioctl, openat and close belong to it, too.
constexpr int watching[] = {SYS_getrusage, SYS_pread64};

/// Of the program itself: its threads, its exit, its malloc; and the driver's own way into the kernel.
constexpr int own[] = {
    SYS_ioctl, SYS_exit, SYS_exit_group,  SYS_clone,           SYS_clone3,       SYS_set_robust_list,
    SYS_rseq,  SYS_brk,  SYS_sched_yield, SYS_restart_syscall, SYS_rt_sigaction, SYS_rt_sigreturn,
};

bool confine(bool kills, bool managed) {
    std::vector<sock_filter> filter{BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr))};
    const auto allow = [&filter](int call) {
        filter.push_back(BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, static_cast<unsigned>(call), 0, 1));
        filter.push_back(BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW));
    };
    for (const int call : listed)
        allow(call);
    for (const int call : own)
        allow(call);
    for (const int call : watching)
        if (managed)
            allow(call);
    // simcuda gives memory back with fallocate(2); the trace would grow with it in another mode.
    constexpr unsigned punches = 3;
    filter.insert(filter.end(), {BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_fallocate, 0, 3),
                                 BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, args[1])),
                                 BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, punches, 0, 1),
                                 BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)});
    filter.push_back(BPF_STMT(BPF_RET | BPF_K, kills ? SECCOMP_RET_KILL_PROCESS
                                                     : SECCOMP_RET_ERRNO | static_cast<unsigned>(EPERM)));
    const sock_fprog program{static_cast<unsigned short>(filter.size()), filter.data()};
    return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
           prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0;
}

bool confine_early() {
    sock_filter filter[] = {BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
                            BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_process_vm_readv, 0, 1),
                            BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
                            BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)};
    const sock_fprog program{static_cast<unsigned short>(std::size(filter)), filter};
    return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
           prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0;
}

/// An allocation, copies both ways of few and of many bytes, launches and a free. What came back.
double work(int n) {
    std::vector<float> host(static_cast<std::size_t>(n), 1.0f);
    const std::size_t bytes = host.size() * sizeof(float);
    float* x = nullptr;
    float* pinned = nullptr;
    cudaMalloc(reinterpret_cast<void**>(&x), bytes);
    cudaMallocHost(reinterpret_cast<void**>(&pinned), bytes);
    for (int round = 0; round < 20; ++round) {
        cudaMemcpy(x, host.data(), bytes, cudaMemcpyHostToDevice);
        LAUNCH(scale, 1, 1, nullptr, DevicePtr<float>(x), n);
        cudaMemcpy(host.data(), x, bytes, cudaMemcpyDeviceToHost);
        cudaMemcpyAsync(pinned, x, bytes, cudaMemcpyDeviceToHost, nullptr);
        cudaDeviceSynchronize();
        for (float& each : host)
            each = each > 1000 ? 1 : each;
    }
    double sum = 0;
    for (int i = 0; i < n; ++i)
        sum += static_cast<double>(pinned[i]);
    cudaFreeHost(pinned);
    cudaFree(x);
    return sum;
}

double launch_many(int count) {
    float* x = nullptr;
    cudaMalloc(reinterpret_cast<void**>(&x), sizeof *x);
    cudaMemset(x, 0, sizeof *x);
    for (int i = 0; i < count; ++i)
        LAUNCH(scale, 1, 1, nullptr, DevicePtr<float>(x), 1);
    float last = 0;
    cudaMemcpy(&last, x, sizeof last, cudaMemcpyDeviceToHost);
    cudaFree(x);
    return static_cast<double>(last);
}

/// Memory that the host and the device touch in turn.
double work_managed(int n) {
    float* x = nullptr;
    cudaMallocManaged(reinterpret_cast<void**>(&x), static_cast<std::size_t>(n) * sizeof *x);
    for (int i = 0; i < n; ++i)
        x[i] = 1;
    double sum = 0;
    for (int round = 0; round < 5; ++round) {
        LAUNCH(scale, 1, 1, nullptr, DevicePtr<float>(x), n);
        cudaDeviceSynchronize();
        sum += static_cast<double>(x[0]) + static_cast<double>(x[n - 1]);
    }
    cudaFree(x);
    return sum;
}

} // namespace

int main(int argc, char** argv) {
    if (argc < 2)
        return 2;
    const bool managed = argc > 2, early = std::strcmp(argv[1], "early") == 0;
    if (early && !confine_early())
        return 3;
    std::printf("before: %g\n", work(16));
    if (managed)
        std::printf("before: %g\n", work_managed(10'000));
    std::fflush(stdout);
    if (!early && !confine(std::strcmp(argv[1], "kill") == 0, managed))
        return 3;
    std::printf("few: %g\n", work(16));
    std::printf("many: %g\n", work(100'000));
    for (int i = 0; i < 4; ++i)
        std::thread([] { std::printf("thread: %g\n", work(1000)); }).join();
    std::printf("launches: %g\n", launch_many(100'000)); // several chunks
    if (managed)
        std::printf("managed: %g\n", work_managed(100'000));
    return 0;
}
