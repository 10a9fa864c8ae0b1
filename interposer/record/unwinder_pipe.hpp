/// The pipe that libunwind keeps. To learn whether an address can be read, in frames without unwinding
/// information, it writes the byte there into a pipe of its own and reads it back (src/x86_64/Ginit.c,
/// write_validate): by number, with no look at what stands there by then.
#pragma once

#include <atomic>
#include <sys/types.h>

namespace umadvisor::record {

class UnwinderPipe {
public:
    constexpr UnwinderPipe() noexcept = default;

    /// Lets libunwind open it, in its first call, at numbers that programs do not look at: those that close
    /// descriptors or select(2) on them look at low ones. Once, before anybody else calls libunwind.
    void open(int (*backtrace)(void**, int)) noexcept;

    /// Whether libunwind may be called. A program that closes descriptors it has not opened (closefrom(3)) gets
    /// its pipe back; one that has given the number to a file of its own must not find bytes of ours there, and
    /// libunwind is not called any more. A system call.
    bool intact() noexcept;

private:
    bool renew() noexcept;

    int ends_[2] = {-1, -1};
    std::atomic<ino_t> inode_{0}; ///< of both ends; 0: there is no pipe
    std::atomic<bool> lost_{false};
};

} // namespace umadvisor::record
