/// Programs that clients reach while they run: they use CUDA, print "ready", and go on until stdin ends.
#include "counting.hpp"

#include <atomic>
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <string_view>
#include <sys/stat.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>
#include <vector>

namespace {

constexpr std::size_t bytes = 1 << 20;

/// Two launches, a copy each way from pageable memory, and a wait.
struct Work {
    std::vector<char> host = std::vector<char>(bytes, 'x');
    void* device = nullptr;
    float* counted = make();

    Work() {
        if (cudaMalloc(&device, bytes) != cudaSuccess)
            std::exit(3);
    }
    void round() {
        cudaMemcpy(device, host.data(), bytes, cudaMemcpyHostToDevice);
        launch(counted, 2);
        cudaDeviceSynchronize();
        cudaMemcpy(host.data(), device, bytes, cudaMemcpyDeviceToHost);
    }
};

bool stdin_has_ended(int milliseconds) {
    pollfd input{STDIN_FILENO, POLLIN, 0};
    char line[64];
    return poll(&input, 1, milliseconds) != 0 && read(STDIN_FILENO, line, sizeof line) <= 0;
}

void say(const char* text) {
    std::puts(text);
    std::fflush(stdout);
}

void wait_for_line() {
    char line[64];
    if (read(STDIN_FILENO, line, sizeof line) < 0)
        std::exit(3);
}

/// The program's own file on each number that umadvisor may have had: nothing may be written to it.
void hold_numbers(const char* path) {
    const int file = open(path, O_RDWR | O_CREAT, 0600);
    for (int number = 3; number < 1024; ++number)
        if (number != file)
            dup2(file, number);
}

/// No managed memory, whose pages simcuda serves with a thread of its own.
void use_cuda() {
    void* device = nullptr;
    const std::vector<char> host(bytes, 'x');
    if (cudaMalloc(&device, bytes) != cudaSuccess ||
        cudaMemcpy(device, host.data(), bytes, cudaMemcpyHostToDevice) != cudaSuccess)
        std::exit(3);
}

void end_by_threads(bool first_uses_cuda) {
    if (first_uses_cuda)
        use_cuda();
    else
        std::thread(&use_cuda).join();
    say("ready");
    std::thread([] { usleep(200'000); }).detach(); // the last thread has made no call
    pthread_exit(nullptr);
}

void fork_and_leave() {
    Work().round();
    const pid_t child = fork();
    if (child == 0) {
        sleep(2);
        _exit(0);
    }
    say("ready");
    wait_for_line();
}

} // namespace

int main(int, char** argv) {
    const std::string_view mode = argv[1];
    if (mode == "last" || mode == "other")
        end_by_threads(mode == "last");
    if (mode == "fork") {
        fork_and_leave();
        return 0;
    }
    Work work;
    work.round();
    say("ready");
    if (mode == "idle")
        while (!stdin_has_ended(-1)) {
        }
    if (mode == "close" || mode == "hold") {
        wait_for_line();
        closefrom(3);
        if (mode == "hold")
            hold_numbers(argv[2]);
        say("closed");
    }
    while (mode != "idle" && !stdin_has_ended(1))
        work.round();
    say("done");
}
