#include "analyzer/cli/standard_streams.hpp"

#include "analyzer/cli/command.hpp"

#include <array>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <fcntl.h>
#include <unistd.h>
#include <utility>

namespace umadvisor::cli {
namespace {

bool was_ignored = false;

} // namespace

void hold_closed_streams() {
    for (const auto& [number, useless] :
         {std::pair{STDIN_FILENO, O_WRONLY}, {STDOUT_FILENO, O_RDONLY}, {STDERR_FILENO, O_RDONLY}})
        if (::fcntl(number, F_GETFD) < 0 && errno == EBADF)
            ::open("/dev/null", useless | O_CLOEXEC); // the lowest number that is free is this one (open(2))
}

void outlive_closed_pipes() {
    was_ignored = ::signal(SIGPIPE, [](int) {}) == SIG_IGN;
    if (was_ignored)
        ::signal(SIGPIPE, SIG_IGN);
}

void end_by_closed_pipe() {
    if (!was_ignored) {
        ::signal(SIGPIPE, SIG_DFL);
        ::raise(SIGPIPE);
    }
    std::_Exit(operational_error);
}

} // namespace umadvisor::cli
