#include "analyzer/cli/terminal/pager.hpp"

#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <iostream>
#include <sstream>
#include <string>
#include <string_view>
#include <sys/wait.h>
#include <unistd.h>

namespace umadvisor::cli {
namespace {

bool is_installed(const std::string& program) {
    const char* const path = std::getenv("PATH");
    std::istringstream folders(path == nullptr ? "" : path);
    if (program.find('/') != std::string::npos)
        return ::access(program.c_str(), X_OK) == 0;
    for (std::string folder; std::getline(folders, folder, ':');)
        if (::access((folder + "/" + program).c_str(), X_OK) == 0)
            return true;
    return false;
}

/// A command line for sh; empty: no pager.
std::string wanted() {
    const char* const term = std::getenv("TERM");
    if (::isatty(STDOUT_FILENO) == 0 || (term != nullptr && std::string_view(term) == "dumb"))
        return {};
    if (const char* const named = std::getenv("PAGER"); named != nullptr)
        return std::string_view(named) == "cat" || !is_installed(std::string(named, std::strcspn(named, " ")))
                   ? ""
                   : named;
    return is_installed("less") ? "less" : "";
}

} // namespace

Pager::Pager() {
    const std::string command = wanted();
    int pipe[2];
    if (command.empty() || ::pipe2(pipe, O_CLOEXEC) != 0)
        return;
    std::cout.flush();
    process_ = ::fork();
    if (process_ == 0) {
        ::dup2(pipe[0], STDIN_FILENO);
        ::setenv("LESS", "FRX", 0);
        ::signal(SIGPIPE, SIG_DFL);
        ::execl("/bin/sh", "sh", "-c", command.c_str(), nullptr);
        constexpr int cannot_run = 127;
        ::_exit(cannot_run);
    }
    if (process_ > 0) {
        output_ = ::fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
        ::dup2(pipe[1], STDOUT_FILENO);
        interrupted_ = ::signal(SIGINT, SIG_IGN); // ^C is for the pager
    }
    ::close(pipe[0]);
    ::close(pipe[1]);
}

Pager::~Pager() {
    if (process_ <= 0)
        return;
    std::cout.flush();
    ::dup2(output_, STDOUT_FILENO); // the pager sees the end of its input
    ::close(output_);
    int status = 0;
    while (::waitpid(process_, &status, 0) < 0 && errno == EINTR) {
    }
    ::signal(SIGINT, interrupted_);
}

} // namespace umadvisor::cli
