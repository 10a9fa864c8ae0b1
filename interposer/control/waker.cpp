#include "interposer/control/waker.hpp"

#include <sys/socket.h>

namespace umadvisor::control {

bool Waker::renew() noexcept {
    close();
    int pair[2];
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, pair) != 0)
        return false;
    const bool first = waits_.adopt(pair[0]);
    return wakes_.adopt(pair[1]) && first;
}

/// If the socket is full, the thread is about to wake up.
void Waker::wake() noexcept {
    if (wakes_.is_ours())
        send(wakes_.number(), "", 1, MSG_NOSIGNAL | MSG_DONTWAIT);
}

void Waker::clear() noexcept {
    char bytes[64];
    while (recv(waits_.number(), bytes, sizeof bytes, MSG_DONTWAIT) == static_cast<ssize_t>(sizeof bytes)) {
    }
}

void Waker::close() noexcept {
    waits_.close();
    wakes_.close();
}

} // namespace umadvisor::control
