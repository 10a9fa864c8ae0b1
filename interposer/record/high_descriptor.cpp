#include "interposer/record/high_descriptor.hpp"

#include <fcntl.h>
#include <unistd.h>

namespace umadvisor::record {

namespace {

constexpr int lowest = 512;

int duplicate(int descriptor) {
    return fcntl(descriptor, F_DUPFD_CLOEXEC, lowest);
}

} // namespace

int raise_descriptor(int descriptor) noexcept {
    const int high = duplicate(descriptor);
    if (high < 0)
        return descriptor;
    close(descriptor);
    return high;
}

bool mark(int descriptor, Marked owner) noexcept {
    return fcntl(descriptor, F_SETSIG, static_cast<int>(owner)) == 0;
}

bool is_marked(int descriptor, Marked owner) noexcept {
    return fcntl(descriptor, F_GETSIG) == static_cast<int>(owner);
}

/// The table keeps its size when the descriptor is closed again.
void make_room_for_descriptors() noexcept {
    for (int standard = STDIN_FILENO; standard <= STDERR_FILENO; ++standard)
        if (const int high = duplicate(standard); high >= 0) {
            close(high);
            return;
        }
}

} // namespace umadvisor::record
