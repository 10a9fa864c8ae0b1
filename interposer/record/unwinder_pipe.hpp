/// The pipe that libunwind keeps. To learn whether an address can be read, in frames without unwinding
/// information, it writes the byte there into a pipe of its own and reads it back (src/x86_64/Ginit.c,
/// write_validate). It uses the descriptors by number, even if they are another file's by then.
#pragma once

#include <atomic>
#include <sys/types.h>

namespace umadvisor::record {

class UnwinderPipe {
public:
    constexpr UnwinderPipe() noexcept = default;

    /// Has libunwind open the pipe, in its first call, at high numbers: programs that close descriptors or
    /// select(2) on them use low ones. Called once, before any other call of libunwind.
    void open(int (*backtrace)(void**, int)) noexcept;

    /// Whether libunwind may be called. If the program has closed descriptors that it has not opened
    /// (closefrom(3)), the pipe is opened again. If it has given the number to a file of its own, that must not
    /// get bytes of ours, and libunwind is not called any more. Makes a system call, fcntl(2).
    bool intact() noexcept;

private:
    bool renew() noexcept;

    int ends_[2] = {-1, -1};
    std::atomic<ino_t> inode_{0}; ///< of both ends; 0: there is no pipe
    std::atomic<bool> lost_{false};
};

} // namespace umadvisor::record
