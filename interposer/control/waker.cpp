#include "interposer/control/waker.hpp"

#include "interposer/record/high_descriptor.hpp"

#include <cstdint>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

namespace umadvisor::control {

using record::Marked;

namespace {

bool is_event(int descriptor) noexcept {
    struct stat file {};
    return fstat(descriptor, &file) == 0 && (file.st_mode & S_IFMT) == 0;
}

} // namespace

bool Waker::renew() noexcept {
    close();
    int event = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
    if (event < 0)
        return false;
    event = record::raise_descriptor(event);
    // The program may have given the number to a file of its own meanwhile, which is then marked, and must not
    // be written to. An eventfd is a file of no type.
    if (!is_event(event) || !record::mark(event, Marked::waker) || !is_event(event))
        return false;
    event_.store(event);
    int pair[2];
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, pair) != 0)
        return false;
    const bool first = open_.adopt(pair[0]);
    return other_end_.adopt(pair[1]) && first;
}

bool Waker::is_ours() const noexcept {
    return record::is_marked(event_.load(), Marked::waker) && open_.is_ours() && other_end_.is_ours();
}

void Waker::poll_for(pollfd* entries) const noexcept {
    entries[0] = {event_.load(), POLLIN, 0};
    entries[1] = {open_.number(), POLLIN, 0};
}

void Waker::wake() noexcept {
    const int event = event_.load();
    const std::uint64_t one = 1;
    if (record::is_marked(event, Marked::waker) && write(event, &one, sizeof one) < 0)
        return; // it is full, and the thread about to wake up
}

void Waker::clear() noexcept {
    const int event = event_.load();
    std::uint64_t times = 0;
    if (record::is_marked(event, Marked::waker) && read(event, &times, sizeof times) < 0)
        return; // wake() has not been called
}

void Waker::close() noexcept {
    const int event = event_.exchange(-1);
    if (record::is_marked(event, Marked::waker))
        ::close(event);
    open_.close();
    other_end_.close();
}

} // namespace umadvisor::control
