#include "interposer/record/unwinder_pipe.hpp"

#include "interposer/record/high_descriptor.hpp"
#include "interposer/record/mutex.hpp"
#include "interposer/record/off_stack.hpp"

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstring>
#include <fcntl.h>
#include <iterator>
#include <sys/eventfd.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace umadvisor::record {
namespace {

constexpr int floor_number = 512;
constinit Mutex pipe_mutex{Lock::texts};

/// Occupies all free low descriptors while it lives, so that new ones are high. Received by a socket
/// (SCM_RIGHTS, unix(7)), one call gives 253 copies of a file, always at the lowest free numbers; dup(2) would
/// need a call for each.
class LowDescriptors {
public:
    LowDescriptors() noexcept {
        rlimit limit{};
        if (getrlimit(RLIMIT_NOFILE, &limit) != 0 ||
            limit.rlim_cur < 2 * floor_number || // others need some too
            socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends_) != 0)
            return;
        file_ = eventfd(0, EFD_CLOEXEC);
        while (file_ >= 0 && (count_ == 0 || held_[count_ - 1] < floor_number) && count_ + batch <= capacity &&
               send() && receive()) {
        }
    }
    ~LowDescriptors() {
        for (std::size_t at = 0, next = 0; at < count_; at = next) {
            for (next = at + 1; next < count_ && held_[next] == held_[next - 1] + 1;)
                ++next;
            close_run(held_[at], held_[next - 1]);
        }
        for (const int number : {ends_[0], ends_[1], file_})
            if (number >= 0)
                ::close(number);
    }
    LowDescriptors(const LowDescriptors&) = delete;
    LowDescriptors& operator=(const LowDescriptors&) = delete;

private:
    static constexpr std::size_t batch = 253; ///< SCM_MAX_FD
    static constexpr std::size_t capacity = (floor_number / batch + 1) * batch;

    /// A message with a buffer for the copies.
    struct Message {
        alignas(cmsghdr) char control[CMSG_SPACE(batch * sizeof(int))] = {};
        char byte = 0;
        iovec content{&byte, 1};
        msghdr header{};
        Message() noexcept {
            header.msg_iov = &content;
            header.msg_iovlen = 1;
            header.msg_control = control;
            header.msg_controllen = sizeof control;
        }
    };

    bool send() const noexcept {
        OffStack<Message> sent;
        Message& message = *sent;
        cmsghdr* const rights = CMSG_FIRSTHDR(&message.header);
        rights->cmsg_level = SOL_SOCKET;
        rights->cmsg_type = SCM_RIGHTS;
        rights->cmsg_len = CMSG_LEN(batch * sizeof(int));
        struct Copies {
            int all[batch];
        };
        const OffStack<Copies> same;
        auto& copies = same->all;
        std::fill(std::begin(copies), std::end(copies), file_);
        std::memcpy(CMSG_DATA(rights), copies, sizeof copies);
        return sendmsg(ends_[0], &message.header, MSG_NOSIGNAL) == 1;
    }

    bool receive() noexcept {
        OffStack<Message> received;
        Message& message = *received;
        if (recvmsg(ends_[1], &message.header, MSG_CMSG_CLOEXEC) != 1)
            return false;
        const cmsghdr* const rights = CMSG_FIRSTHDR(&message.header);
        if (rights == nullptr || rights->cmsg_type != SCM_RIGHTS)
            return false;
        const std::size_t came = std::min((rights->cmsg_len - CMSG_LEN(0)) / sizeof(int), batch);
        std::memcpy(held_ + count_, CMSG_DATA(rights), came * sizeof(int));
        count_ += came;
        return came == batch;
    }

    static void close_run(int first, int last) noexcept {
        if (syscall(SYS_close_range, first, last, 0) != 0) // before Linux 5.9
            for (int number = first; number <= last; ++number)
                ::close(number);
    }

    int ends_[2] = {-1, -1}, file_ = -1; // low ones themselves
    int held_[capacity];
    std::size_t count_ = 0;
};

/// The inode of the pipe at that number; 0: it is no pipe.
ino_t pipe_at(int number) noexcept {
    struct stat file {};
    return fstat(number, &file) == 0 && S_ISFIFO(file.st_mode) ? file.st_ino : 0;
}

} // namespace

void UnwinderPipe::open(int (*backtrace)(void**, int)) noexcept {
    const OffStack<LowDescriptors> low;
    // A pipe opened now gets these numbers, unless another thread opens something at this moment.
    int next[2] = {};
    if (pipe2(next, O_CLOEXEC | O_NONBLOCK) != 0)
        return;
    ::close(next[0]);
    ::close(next[1]);
    const ino_t before = pipe_at(next[0]);
    void* here = nullptr;
    backtrace(&here, 1);
    const ino_t inode = pipe_at(next[0]);
    if (inode == 0 || inode == before || inode != pipe_at(next[1]))
        return;
    ends_[0] = next[0];
    ends_[1] = next[1];
    if (mark(ends_[0], Marked::unwinder) && mark(ends_[1], Marked::unwinder))
        inode_.store(inode, std::memory_order_release);
}

bool UnwinderPipe::intact() noexcept {
    const ino_t inode = inode_.load(std::memory_order_acquire);
    // The read end has the lower number: if the program has closed both, it gets this number first.
    if (inode == 0 || (!lost_.load(std::memory_order_relaxed) && is_marked(ends_[0], Marked::unwinder)))
        [[likely]]
        return true;
    const Guard guard(pipe_mutex);
    if (!lost_.load(std::memory_order_relaxed) && !is_marked(ends_[0], Marked::unwinder) && !renew())
        lost_.store(true, std::memory_order_relaxed);
    return !lost_.load(std::memory_order_relaxed);
}

/// A new pipe at the same two numbers, if both are free. Never dup2(2): it would close a file that another
/// thread opens there at this moment.
bool UnwinderPipe::renew() noexcept {
    int fresh[2] = {};
    if (pipe2(fresh, O_CLOEXEC | O_NONBLOCK) != 0)
        return false;
    const ino_t inode = pipe_at(fresh[0]);
    bool marked = true;
    for (const int end : fresh)
        marked = mark(end, Marked::unwinder) && marked;
    for (std::size_t i = 0; i < 2; ++i) {
        if (fresh[i] == ends_[i])
            continue;
        const int moved = fcntl(fresh[i], F_DUPFD_CLOEXEC, ends_[i]);
        ::close(fresh[i]);
        if (moved >= 0 && moved != ends_[i])
            ::close(moved);
    }
    if (marked && pipe_at(ends_[0]) == inode && pipe_at(ends_[1]) == inode) {
        inode_.store(inode, std::memory_order_release);
        return true;
    }
    for (const int end : ends_)
        if (pipe_at(end) == inode)
            ::close(end);
    return false;
}

} // namespace umadvisor::record
