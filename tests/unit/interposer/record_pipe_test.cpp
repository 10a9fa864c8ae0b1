#include "interposer/record/unwinder_pipe.hpp"

#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <csignal>
#include <dirent.h>
#include <fcntl.h>
#include <string>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>
#include <vector>

BOOST_AUTO_TEST_SUITE(unwinder_pipe)

using namespace umadvisor::record;

namespace {

int unwinders_pipe[2];

/// What libunwind does in its first call.
int first_call(void**, int) {
    return pipe2(unwinders_pipe, O_CLOEXEC | O_NONBLOCK);
}

std::vector<int> open_descriptors() {
    std::vector<int> numbers;
    DIR* const folder = opendir("/proc/self/fd");
    while (const dirent* const entry = readdir(folder))
        if (entry->d_name[0] != '.' && std::stoi(entry->d_name) != dirfd(folder))
            numbers.push_back(std::stoi(entry->d_name));
    closedir(folder);
    std::sort(numbers.begin(), numbers.end());
    return numbers;
}

/// How many system calls a child makes between two that it marks: entries into the kernel, as ptrace(2) sees
/// them.
template <class Work>
int count_system_calls(Work&& work) {
    const pid_t child = fork();
    if (child == 0) {
        ptrace(PTRACE_TRACEME, 0, nullptr, nullptr);
        raise(SIGSTOP);
        work();
        raise(SIGSTOP);
        _exit(0);
    }
    int state = 0, stops = 0;
    BOOST_REQUIRE(waitpid(child, &state, 0) == child);
    BOOST_REQUIRE((WIFSTOPPED(state) && WSTOPSIG(state) == SIGSTOP));
    ptrace(PTRACE_SETOPTIONS, child, nullptr, PTRACE_O_TRACESYSGOOD | PTRACE_O_EXITKILL);
    for (;; ++stops) {
        ptrace(PTRACE_SYSCALL, child, nullptr, nullptr);
        BOOST_REQUIRE(waitpid(child, &state, 0) == child);
        if (!WIFSTOPPED(state) || WSTOPSIG(state) == SIGSTOP)
            break;
    }
    ptrace(PTRACE_CONT, child, nullptr, nullptr);
    waitpid(child, &state, 0);
    return stops / 2; // in and out
}

} // namespace

BOOST_AUTO_TEST_CASE(the_pipe_is_out_of_the_programs_way_and_nothing_else_is_left) {
    const int gap = open("/dev/null", O_RDONLY), behind = open("/dev/null", O_RDONLY);
    close(gap); // what is free does not lie in one piece
    const std::vector<int> before = open_descriptors();
    UnwinderPipe pipe;
    pipe.open(&first_call);
    BOOST_TEST(pipe.intact());
    BOOST_TEST(unwinders_pipe[0] >= 512);
    BOOST_TEST(unwinders_pipe[1] >= 512);
    std::vector<int> after = open_descriptors();
    BOOST_TEST(after.size() == before.size() + 2);
    close(unwinders_pipe[0]);
    close(unwinders_pipe[1]);
    BOOST_TEST(open_descriptors() == before);
    close(behind);
}

BOOST_AUTO_TEST_CASE(where_the_program_may_open_few_files_the_pipe_is_where_it_comes) {
    rlimit whole{};
    getrlimit(RLIMIT_NOFILE, &whole);
    const rlimit few{256, whole.rlim_max};
    setrlimit(RLIMIT_NOFILE, &few);
    UnwinderPipe pipe;
    pipe.open(&first_call);
    setrlimit(RLIMIT_NOFILE, &whole);
    BOOST_TEST(pipe.intact());
    BOOST_TEST(unwinders_pipe[0] < 256);
    close(unwinders_pipe[0]);
    close(unwinders_pipe[1]);
}

BOOST_AUTO_TEST_CASE(it_takes_few_system_calls) {
    const int calls = count_system_calls([] {
        UnwinderPipe pipe;
        pipe.open(&first_call);
    });
    BOOST_TEST(calls > 5); // it was counted
    BOOST_TEST(calls < 50);
}

BOOST_AUTO_TEST_SUITE_END()
