/// A descriptor of ours in a process that may close any.
#pragma once

#include <sys/types.h>

namespace umadvisor::control {

/// Knows its file, so that a number that meanwhile belongs to the program is left alone. Only for files with an
/// inode of their own, as sockets have. Trivially destructible: it is given up by close() or forget().
class OwnDescriptor {
public:
    /// Takes `descriptor` over and raises it above those of the program. False, and it is closed, if the file
    /// cannot be looked at.
    bool adopt(int descriptor) noexcept;

    bool is_open() const noexcept { return number_ >= 0; }
    int number() const noexcept { return number_; }

    /// Whether the number still is our file's. One system call.
    bool is_ours() const noexcept;

    /// Closes it if it is ours.
    void close() noexcept;

private:
    int number_ = -1;
    dev_t device_ = 0;
    ino_t inode_ = 0;
};

} // namespace umadvisor::control
