/// Wakes a thread that waits in poll(2).
#pragma once

#include "interposer/control/own_descriptor.hpp"

namespace umadvisor::control {

/// A pair of sockets: an eventfd(2) has no inode of its own, so it could not be told from the program's. That
/// the program closes one of them wakes the thread, too.
class Waker {
public:
    /// Makes the pair, or makes it anew. False where that fails.
    bool renew() noexcept;

    bool is_ours() const noexcept { return waits_.is_ours() && wakes_.is_ours(); }
    /// To be polled for input.
    int number() const noexcept { return waits_.number(); }

    /// Any thread may call it; it does not wait.
    void wake() noexcept;
    /// After poll(2): the thread is awake.
    void clear() noexcept;
    void close() noexcept;

private:
    OwnDescriptor waits_, wakes_;
};

} // namespace umadvisor::control
