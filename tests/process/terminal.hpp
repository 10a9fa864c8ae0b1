/// Commands on a terminal.
#pragma once

#include "process.hpp"

#include <pty.h>
#include <string>
#include <sys/ioctl.h>
#include <unistd.h>

namespace umadvisor::test {

/// Runs a shell command line on a terminal of so many columns, without a pager unless it names one, and answers
/// what was written there.
inline std::string on_terminal(const Folder& folder, const std::string& command, unsigned short columns = 80) {
    int terminal = -1;
    const winsize size{24, columns, 0, 0};
    const pid_t child = forkpty(&terminal, nullptr, nullptr, &size);
    if (child == 0) {
        execl("/bin/sh", "sh", "-c", (enter(folder) + "export PAGER=; " + command).c_str(),
              static_cast<char*>(nullptr));
        _exit(127);
    }
    BOOST_TEST_REQUIRE(child > 0);
    std::string text;
    char buffer[4096];
    for (ssize_t got = 0; (got = ::read(terminal, buffer, sizeof buffer)) > 0;) // EIO: the other end is closed
        text.append(buffer, static_cast<std::size_t>(got));
    int status = -1;
    waitpid(child, &status, 0);
    close(terminal);
    BOOST_TEST(status == 0, text);
    return text;
}

} // namespace umadvisor::test
