/// Slow paths of the recorder run inside the program's own calls and must not change the thread's state.
#pragma once

#include <cerrno>
#include <pthread.h>

namespace umadvisor::record {

/// Keeps errno, and disables pthread_cancel: open(2), close(2) and posix_fallocate(3) are cancellation points,
/// and a thread that is cancelled there would unwind through noexcept functions and leave a lock locked.
class Quiet {
public:
    Quiet() noexcept : errno_(errno) { pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancel_); }
    ~Quiet() {
        pthread_setcancelstate(cancel_, nullptr);
        errno = errno_;
    }
    Quiet(const Quiet&) = delete;
    Quiet& operator=(const Quiet&) = delete;

private:
    int errno_;
    int cancel_ = PTHREAD_CANCEL_ENABLE;
};

} // namespace umadvisor::record
