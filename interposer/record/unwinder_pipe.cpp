#include "interposer/record/unwinder_pipe.hpp"

#include "interposer/record/mutex.hpp"

#include <cerrno>
#include <cstddef>
#include <fcntl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

namespace umadvisor::record {
namespace {

constexpr int floor_number = 512;
constinit Mutex mutex;

/// Holds all low descriptors that are free, so that what is opened meanwhile gets a high one.
class LowDescriptors {
public:
    LowDescriptors() noexcept {
        rlimit limit{};
        if (getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur < 2 * floor_number)
            return; // it would leave other threads none
        const int first = ::open("/dev/null", O_RDONLY | O_CLOEXEC);
        for (int taken = first; taken >= 0; taken = fcntl(first, F_DUPFD_CLOEXEC, 0)) {
            if (taken >= floor_number) {
                ::close(taken);
                break;
            }
            taken_[taken] = true;
        }
    }
    ~LowDescriptors() {
        for (int number = 0; number < floor_number; ++number)
            if (taken_[number])
                ::close(number);
    }
    LowDescriptors(const LowDescriptors&) = delete;
    LowDescriptors& operator=(const LowDescriptors&) = delete;

private:
    bool taken_[floor_number] = {};
};

/// Of the pipe at that number; 0: it is none.
ino_t pipe_at(int number) noexcept {
    struct stat file {};
    return fstat(number, &file) == 0 && S_ISFIFO(file.st_mode) ? file.st_ino : 0;
}

} // namespace

void UnwinderPipe::open(int (*backtrace)(void**, int)) noexcept {
    const LowDescriptors low;
    // The numbers that a pipe gets now, unless another thread opens something just here.
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
    inode_.store(inode, std::memory_order_release);
}

bool UnwinderPipe::intact() noexcept {
    const ino_t inode = inode_.load(std::memory_order_acquire);
    // The end that is read from is the lower one: a program that has closed both gets this number first.
    if (inode == 0 || (!lost_.load(std::memory_order_relaxed) && pipe_at(ends_[0]) == inode)) [[likely]]
        return true;
    const Guard guard(mutex);
    if (!lost_.load(std::memory_order_relaxed) && pipe_at(ends_[0]) != inode_.load(std::memory_order_relaxed) &&
        !renew())
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
    for (std::size_t i = 0; i < 2; ++i) {
        if (fresh[i] == ends_[i])
            continue;
        const int moved = fcntl(fresh[i], F_DUPFD_CLOEXEC, ends_[i]);
        ::close(fresh[i]);
        if (moved >= 0 && moved != ends_[i])
            ::close(moved);
    }
    if (pipe_at(ends_[0]) == inode && pipe_at(ends_[1]) == inode) {
        inode_.store(inode, std::memory_order_release);
        return true;
    }
    for (const int end : ends_)
        if (pipe_at(end) == inode)
            ::close(end);
    return false;
}

} // namespace umadvisor::record
