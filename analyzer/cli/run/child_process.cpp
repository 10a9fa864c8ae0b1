#include "analyzer/cli/run/child_process.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <fcntl.h>
#include <optional>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

namespace umadvisor::cli {
namespace {

using std::chrono::milliseconds;

constexpr milliseconds turn{5}, to_die{1000};

/// Beyond the standard streams', which a parent may have closed: the child's take their places.
int beyond_standard(int descriptor) {
    if (descriptor < 0 || descriptor > STDERR_FILENO)
        return descriptor;
    const int beyond = ::fcntl(descriptor, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
    ::close(descriptor);
    return beyond;
}

/// A file in memory: it needs no folder that can be written to, and never fills up as a pipe does.
class Written {
public:
    Written() : descriptor_(beyond_standard(::memfd_create("umadvisor", MFD_CLOEXEC))) {}
    ~Written() { ::close(descriptor_); }
    Written(const Written&) = delete;
    Written& operator=(const Written&) = delete;

    int descriptor() const { return descriptor_; }
    std::string text() const {
        constexpr off_t most = 1 << 20;
        std::string all(static_cast<std::size_t>(std::clamp<off_t>(::lseek(descriptor_, 0, SEEK_END), 0, most)),
                        '\0');
        const ssize_t got = ::pread(descriptor_, all.data(), all.size(), 0);
        all.resize(static_cast<std::size_t>(std::max<ssize_t>(got, 0)));
        return all;
    }

private:
    int descriptor_;
};

/// The wait status of `pid` when it ends within `allowed`.
std::optional<int> wait_for(pid_t pid, milliseconds allowed) {
    const auto last = std::chrono::steady_clock::now() + allowed;
    int status = 0;
    for (;;) {
        const pid_t ended = ::waitpid(pid, &status, WNOHANG);
        if (ended == pid)
            return status;
        if ((ended < 0 && errno != EINTR) || std::chrono::steady_clock::now() >= last)
            return std::nullopt;
        std::this_thread::sleep_for(turn);
    }
}

} // namespace

ChildResult run_child(const std::string& path, const std::vector<std::string>& arguments,
                      const Environment& environment, milliseconds allowed) {
    const Written out, err;
    posix_spawn_file_actions_t actions;
    ::posix_spawn_file_actions_init(&actions);
    ::posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    ::posix_spawn_file_actions_adddup2(&actions, out.descriptor(), STDOUT_FILENO);
    ::posix_spawn_file_actions_adddup2(&actions, err.descriptor(), STDERR_FILENO);
    const std::vector<std::string> merged = merged_environment(environment);
    pid_t pid = 0;
    const int failed = ::posix_spawn(&pid, path.c_str(), &actions, nullptr, pointers(arguments).data(),
                                     pointers(merged).data());
    ::posix_spawn_file_actions_destroy(&actions);
    if (failed != 0)
        return {127, true, {}, path + ": " + std::strerror(failed)};
    std::optional<int> status = wait_for(pid, allowed);
    const bool ended = status.has_value();
    if (!ended) {
        ::kill(pid, SIGKILL);
        status = wait_for(pid, to_die);
    }
    return {!status                ? 128 + SIGKILL
            : WIFSIGNALED(*status) ? 128 + WTERMSIG(*status)
                                   : WEXITSTATUS(*status),
            ended, out.text(), err.text()};
}

} // namespace umadvisor::cli
