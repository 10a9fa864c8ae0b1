/// Wakes a thread that waits in poll(2).
#pragma once

#include "interposer/control/own_descriptor.hpp"

#include <atomic>
#include <poll.h>

namespace umadvisor::control {

/// An eventfd(2), which also a thread with a filter of system calls may write to: it is known by its mark, and
/// write(2) to it raises no signal. And a pair of sockets that only waits for the program to close it, along
/// with all that is ours: a thread that polls a descriptor does not wake up when it is closed.
class Waker {
public:
    static constexpr std::size_t polled = 2;

    /// Makes the descriptors, or makes them anew. False where that fails.
    bool renew() noexcept;

    bool is_ours() const noexcept;
    /// Fills in `polled` entries.
    void poll_for(pollfd* entries) const noexcept;

    /// Any thread may call it; it does not wait.
    void wake() noexcept;
    /// After poll(2): the thread is awake.
    void clear() noexcept;
    void close() noexcept;

private:
    std::atomic<int> event_{-1};
    OwnDescriptor open_, other_end_;
};

} // namespace umadvisor::control
