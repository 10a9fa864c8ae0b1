#include "interposer/record/checked_read.hpp"

#include "interposer/record/confined.hpp"
#include "interposer/record/high_descriptor.hpp"
#include "interposer/record/mutex.hpp"
#include "interposer/record/quiet.hpp"

#include <atomic>
#include <cerrno>
#include <cstdio>
#include <fcntl.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace umadvisor::record {
namespace {

/// One pipe under one number: opened for both, it gets no SIGPIPE, and there is one number to look after.
class Pipe {
public:
    /// Each has an owner of its own.
    explicit constexpr Pipe(Marked owner) noexcept : owner_(owner) {}

    void open() noexcept {
        number_ = none;
        int ends[2];
        if (pipe2(ends, O_CLOEXEC | O_NONBLOCK) != 0)
            return;
        char path[32];
        std::snprintf(path, sizeof path, "/proc/self/fd/%d", ends[0]);
        const int both = ::open(path, O_RDWR | O_CLOEXEC | O_NONBLOCK);
        ::close(ends[0]);
        ::close(ends[1]);
        number_ = both < 0 ? none : raise_descriptor(both);
        if (number_ >= 0 && !mark(number_, owner_)) {
            ::close(number_);
            number_ = none;
        }
    }

    /// A program that closes descriptors that are not its own (closefrom(3)) has closed this one, too.
    bool is_open() noexcept {
        if (is_ours()) [[likely]]
            return true;
        if (number_ == none || is_confined())
            return false;
        open();
        return number_ >= 0;
    }

    /// False where a byte cannot be read. Not by the functions write(2) and read(2), which are cancellation
    /// points.
    bool pass(std::uint8_t* to, const iovec* from, std::size_t count) noexcept {
        long held = 0; // in the pipe: short pieces are read from it together
        for (; count != 0; --count, ++from) {
            const auto* at = static_cast<const std::uint8_t*>(from->iov_base);
            for (std::size_t left = from->iov_len; left != 0;) {
                const long sent = syscall(SYS_write, number_, at, left);
                if (sent > 0) {
                    held += sent;
                    at += sent;
                    left -= static_cast<std::size_t>(sent);
                } else if (sent == 0 || errno != EINTR) {
                    const int error = sent < 0 ? errno : 0;
                    if (error != EFAULT && held == 0)
                        give_up(); // the number is not ours any more, or there is something left in the pipe
                    if (!take(to, held) || error != EAGAIN)
                        return false;
                }
            }
        }
        return take(to, held);
    }

    Mutex mutex{Lock::sink};

private:
    bool take(std::uint8_t*& to, long& held) noexcept {
        while (held != 0) {
            const long got = syscall(SYS_read, number_, to, held);
            if (got > 0) {
                to += got;
                held -= got;
            } else if (got == 0 || errno != EINTR) {
                give_up(); // what is left in it would come with the next read
                return false;
            }
        }
        return number_ >= 0;
    }

    bool is_ours() const noexcept { return number_ >= 0 && is_marked(number_, owner_); }

    /// The next read opens another pipe.
    void give_up() noexcept {
        if (is_ours())
            ::close(number_);
        number_ = lost;
    }

    static constexpr int none = -1, lost = -2;

    Marked owner_;
    int number_ = none;
};

constexpr std::size_t most = 2; ///< threads that read at a time
constinit Pipe pipes[most]{Pipe(Marked::first_read), Pipe(Marked::second_read)};
constinit std::atomic<unsigned> turn{0};

Pipe& lock_one() noexcept {
    const unsigned first = turn.fetch_add(1, std::memory_order_relaxed);
    for (unsigned i = 0; i < most; ++i)
        if (pipes[(first + i) % most].mutex.try_lock())
            return pipes[(first + i) % most];
    pipes[first % most].mutex.lock();
    return pipes[first % most];
}

} // namespace

void open_checked_reads() noexcept {
    for (Pipe& pipe : pipes)
        pipe.open();
}

bool read_checked(void* to, const iovec* from, std::size_t count) noexcept {
    const Quiet quiet;
    Pipe& pipe = lock_one();
    const bool good = pipe.is_open() && pipe.pass(static_cast<std::uint8_t*>(to), from, count);
    pipe.mutex.unlock();
    return good;
}

bool read_in_one_call(void* to, std::uintptr_t from, std::size_t bytes) noexcept {
    const iovec local{to, bytes};
    const iovec remote{reinterpret_cast<void*>(from), bytes}; // NOLINT(performance-no-int-to-ptr)
    {
        const Quiet quiet;
        const long got = syscall(SYS_process_vm_readv, getpid(), &local, 1, &remote, 1, 0);
        if (got >= 0 || errno == EFAULT)
            return got == static_cast<long>(bytes);
    }
    return read_checked(to, from, bytes); // containers may refuse the call
}

} // namespace umadvisor::record
