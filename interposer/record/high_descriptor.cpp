#include "interposer/record/high_descriptor.hpp"

#include <fcntl.h>
#include <unistd.h>

namespace umadvisor::record {

namespace {

constexpr int lowest = 512;
constexpr int marking_signal = 61; ///< of real time; any that nobody else would choose

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

bool mark(int descriptor) noexcept {
    return fcntl(descriptor, F_SETSIG, marking_signal) == 0;
}

bool is_marked(int descriptor) noexcept {
    return fcntl(descriptor, F_GETSIG) == marking_signal;
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
