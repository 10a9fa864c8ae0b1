#include "analyzer/cli/run/launcher.hpp"
#include "analyzer/cli/message.hpp"

#include <array>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

namespace umadvisor::cli {
namespace {

volatile std::sig_atomic_t child = 0;

extern "C" void pass_on(int signal) {
    const int saved = errno;
    if (child > 0)
        ::kill(child, signal);
    errno = saved;
}

constexpr std::array passed{SIGTERM, SIGHUP, SIGUSR1, SIGUSR2};
constexpr std::array ignored{SIGINT, SIGQUIT};

/// The signal dispositions of a waiting parent, for as long as it lives. They stand before the child starts,
/// since it may signal its parent at once; `attributes` gives the child the ones that were there. Signals to
/// pass on wait until started() says whom to pass them to.
class WaitingSignals {
public:
    WaitingSignals() {
        sigset_t held;
        sigemptyset(&held);
        for (const int signal : passed)
            sigaddset(&held, signal);
        ::sigprocmask(SIG_BLOCK, &held, &old_mask_);
        struct sigaction action {};
        action.sa_handler = SIG_IGN;
        for (std::size_t i = 0; i < ignored.size(); ++i)
            ::sigaction(ignored[i], &action, &old_ignored_[i]);
        action.sa_handler = &pass_on;
        action.sa_flags = SA_RESTART;
        for (std::size_t i = 0; i < passed.size(); ++i) {
            ::sigaction(passed[i], nullptr, &old_passed_[i]);
            if (old_passed_[i].sa_handler != SIG_IGN) // nohup stays nohup
                ::sigaction(passed[i], &action, nullptr);
        }
        // Handlers are reset by exec, ignored signals are not (execve(2)).
        sigset_t defaults;
        sigemptyset(&defaults);
        for (std::size_t i = 0; i < ignored.size(); ++i)
            if (old_ignored_[i].sa_handler != SIG_IGN)
                sigaddset(&defaults, ignored[i]);
        ::posix_spawnattr_init(&attributes);
        ::posix_spawnattr_setsigdefault(&attributes, &defaults);
        ::posix_spawnattr_setsigmask(&attributes, &old_mask_);
        ::posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETSIGMASK);
    }
    void started(pid_t pid) {
        child = pid;
        ::sigprocmask(SIG_SETMASK, &old_mask_, nullptr);
    }
    ~WaitingSignals() {
        child = 0;
        ::sigprocmask(SIG_SETMASK, &old_mask_, nullptr);
        ::posix_spawnattr_destroy(&attributes);
        for (std::size_t i = 0; i < ignored.size(); ++i)
            ::sigaction(ignored[i], &old_ignored_[i], nullptr);
        for (std::size_t i = 0; i < passed.size(); ++i)
            ::sigaction(passed[i], &old_passed_[i], nullptr);
    }
    WaitingSignals(const WaitingSignals&) = delete;
    WaitingSignals& operator=(const WaitingSignals&) = delete;

    posix_spawnattr_t attributes;

private:
    sigset_t old_mask_{};
    std::array<struct sigaction, ignored.size()> old_ignored_{};
    std::array<struct sigaction, passed.size()> old_passed_{};
};

class Redirections {
public:
    explicit Redirections(const StandardStreams& streams) {
        ::posix_spawn_file_actions_init(&actions);
        open(STDIN_FILENO, streams.in, O_RDONLY);
        open(STDOUT_FILENO, streams.out, O_WRONLY | O_CREAT | O_TRUNC);
        if (!streams.err.empty() && streams.err == streams.out)
            ::posix_spawn_file_actions_adddup2(&actions, STDOUT_FILENO, STDERR_FILENO);
        else
            open(STDERR_FILENO, streams.err, O_WRONLY | O_CREAT | O_TRUNC);
    }
    ~Redirections() { ::posix_spawn_file_actions_destroy(&actions); }
    Redirections(const Redirections&) = delete;
    Redirections& operator=(const Redirections&) = delete;

    posix_spawn_file_actions_t actions;

private:
    void open(int descriptor, const std::string& path, int flags) {
        if (!path.empty())
            ::posix_spawn_file_actions_addopen(&actions, descriptor, path.c_str(), flags, 0600);
    }
};

} // namespace

std::vector<std::string> merged_environment(const Environment& environment) {
    std::vector<std::string> merged;
    for (char** entry = environ; entry != nullptr && *entry != nullptr; ++entry) {
        const std::string text = *entry;
        const std::string name = text.substr(0, text.find('='));
        bool replaced = false;
        for (const auto& [key, value] : environment)
            replaced |= key == name;
        if (!replaced)
            merged.push_back(text);
    }
    for (const auto& [key, value] : environment)
        merged.push_back(key + "=" + value);
    return merged;
}

std::vector<char*> pointers(const std::vector<std::string>& texts) {
    std::vector<char*> result;
    for (const std::string& text : texts)
        result.push_back(const_cast<char*>(text.c_str())); // posix_spawn(3) does not write to them
    result.push_back(nullptr);
    return result;
}

Environment preload_environment(const std::string& shim, const std::string& output) {
    const char* there = std::getenv("LD_PRELOAD");
    Environment environment{{"LD_PRELOAD", there == nullptr || *there == '\0' ? shim : shim + ":" + there}};
    if (!output.empty())
        environment.emplace_back("UMADVISOR_OUTPUT", output);
    environment.emplace_back("UMADVISOR_FORCE", "0");    // what was in the way is gone; the program's processes
                                                         // shall not replace each other's traces
    if (std::getenv("NVTX_INJECTION64_PATH") == nullptr) // another tool's otherwise
        environment.emplace_back("NVTX_INJECTION64_PATH", shim);
    return environment;
}

int run_program(const std::string& path, const std::vector<std::string>& arguments,
                const Environment& environment, const StandardStreams& streams, bool* started) {
    const std::vector<std::string> merged = merged_environment(environment);
    pid_t pid = 0;
    WaitingSignals signals;
    const Redirections redirections(streams);
    int failed = ::posix_spawn(&pid, path.c_str(), &redirections.actions, &signals.attributes,
                               pointers(arguments).data(), pointers(merged).data());
    if (failed == ENOEXEC) { // a script without #!: what a shell does with it
        std::vector<std::string> shell{"/bin/sh", path};
        shell.insert(shell.end(), arguments.begin() + 1, arguments.end());
        failed = ::posix_spawn(&pid, "/bin/sh", &redirections.actions, &signals.attributes,
                               pointers(shell).data(), pointers(merged).data());
    }
    if (started != nullptr)
        *started = failed == 0;
    if (failed != 0) {
        say(path + ": " + std::strerror(failed));
        return failed == ENOENT ? 127 : 126;
    }
    signals.started(pid);
    int status = 0;
    while (::waitpid(pid, &status, 0) < 0 && errno == EINTR) {
    }
    return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

} // namespace umadvisor::cli
