/// Writes to what belongs to others: a program's stderr, and whoever reads it at the other end.
#pragma once

#include <algorithm>
#include <cerrno>
#include <climits>
#include <csignal>
#include <cstddef>
#include <cstdint>
#include <ctime>
#include <poll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace umadvisor::trace {

namespace detail {

/// While it lives, a write of this thread raises none of the signals that a write can raise: SIGPIPE (there is
/// no reader any more), SIGXFSZ (the limit on the size of files), and SIGTTOU (the terminal stops who writes
/// from the background), which the kernel does not send to a thread that blocks it.
class WriteSignals {
public:
    // Masks of the kernel, of 8 bytes: a sigset_t has 128, and threads may have small stacks.
    WriteSignals() noexcept {
        const std::uint64_t raised = bit(SIGPIPE) | bit(SIGXFSZ) | bit(SIGTTOU);
        syscall(SYS_rt_sigprocmask, SIG_BLOCK, &raised, &before_, sizeof before_);
        // A signal that the thread did not block cannot be pending.
        std::uint64_t pending = 0;
        if ((before_ & (bit(SIGPIPE) | bit(SIGXFSZ))) != 0 &&
            syscall(SYS_rt_sigpending, &pending, sizeof pending) == 0)
            were_there_ = (pending & (bit(SIGPIPE) | bit(SIGXFSZ))) != 0;
    }
    ~WriteSignals() { syscall(SYS_rt_sigprocmask, SIG_SETMASK, &before_, nullptr, sizeof before_); }
    WriteSignals(const WriteSignals&) = delete;
    WriteSignals& operator=(const WriteSignals&) = delete;

    /// Whether the program has one pending. Ours could not be distinguished from it.
    bool were_there() const noexcept { return were_there_; }

    /// After a write that failed with `error`: its signal goes. The kernel has sent it to this thread alone.
    static void take_back(int error) noexcept {
        if (error != EPIPE && error != EFBIG)
            return;
        const std::uint64_t one = bit(error == EPIPE ? SIGPIPE : SIGXFSZ);
        const timespec at_once{};
        while (syscall(SYS_rt_sigtimedwait, &one, nullptr, &at_once, sizeof one) < 0 && errno == EINTR) {
        }
    }

private:
    static constexpr std::uint64_t bit(int signal) noexcept { return std::uint64_t{1} << (signal - 1); }

    std::uint64_t before_ = 0;
    bool were_there_ = false;
};

inline bool takes_text_now(int descriptor) noexcept {
    pollfd state{descriptor, POLLOUT, 0};
    return poll(&state, 1, 0) == 1 && state.revents == POLLOUT;
}

} // namespace detail

/// Writes the text, or what of it can be written at once; the rest is dropped. Returns whether all was written.
/// Raises no signal, does not wait, and leaves the descriptor's flags as they are: other processes share them.
/// `mode`: st_mode of the file (fstat(2)). May change errno; is a cancellation point.
///
/// A pipe that polls as writable has a page free, so PIPE_BUF bytes fit (pipe(7)), and a stopped terminal does
/// not poll as writable. Another writer can only fill the last page between the two calls if no one reads
/// meanwhile; pwritev2(2) with RWF_NOWAIT would exclude that too (for pipes, since Linux 6.4), but a sandbox
/// that the program has entered may end it for a call that it does not make itself.
[[gnu::noinline]] inline bool write_or_drop(int descriptor, mode_t mode, const char* text,
                                            std::size_t bytes) noexcept {
    if (!detail::takes_text_now(descriptor))
        return false;
    if (S_ISSOCK(mode))
        return send(descriptor, text, bytes, MSG_NOSIGNAL | MSG_DONTWAIT) == static_cast<ssize_t>(bytes);
    const std::size_t piece = S_ISREG(mode) ? bytes : std::min<std::size_t>(bytes, PIPE_BUF);
    const detail::WriteSignals signals;
    if (signals.were_there())
        return false;
    const ssize_t written = write(descriptor, text, piece);
    if (written < 0)
        detail::WriteSignals::take_back(errno);
    return written == static_cast<ssize_t>(bytes);
}

} // namespace umadvisor::trace
