/// Processes of this machine, as /proc shows them.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <sys/types.h>
#include <vector>

namespace umadvisor::live {

struct Process {
    pid_t pid = 0;       ///< 0: it is in a PID namespace that this process does not see
    pid_t inner_pid = 0; ///< in its own PID namespace
    uid_t user = 0;      ///< effective
    std::string name;    ///< as a person calls it: file name of the executable, or of Python's script
    std::string comm;    ///< as /proc/PID/comm has it
    std::string program; ///< file name of the executable; empty: not known

    bool is_called(std::string_view given) const { return given == name || given == comm || given == program; }
    /// "4242 (train.py)".
    std::string text() const;
    /// Path under which a file that this process calls `path` is reached here: the same, or one below
    /// /proc/PID/root where the process is in another mount namespace.
    std::string reach(const std::string& path) const;
    /// The value of a variable when the process started; empty: none, or it cannot be read.
    std::string variable(std::string_view variable) const;
    /// Whether libumadvisor.so is mapped.
    bool has_shim() const;
};

/// Nothing where there is no such process, or no more.
std::optional<Process> read_process(pid_t pid);

/// All of this process's effective user but itself, in the order of their numbers.
std::vector<Process> own_processes();

} // namespace umadvisor::live
