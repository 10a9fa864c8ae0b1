/// Reads small files of the kernel: in /proc, in /sys and of control groups.
#pragma once

#include <cstddef>
#include <fcntl.h>
#include <string_view>
#include <unistd.h>

namespace umadvisor::base {

/// The first bytes of a file, without malloc and safe in a signal handler.
template <std::size_t capacity = 4096>
struct SmallFile {
    char bytes[capacity];
    std::size_t length = 0;

    std::string_view view() const noexcept { return {bytes, length}; }

    /// Reads the text and ends it with a zero. False if there is none.
    bool read(const char* path) noexcept {
        const int file = open(path, O_RDONLY | O_CLOEXEC);
        if (file < 0)
            return false;
        const ssize_t got = ::read(file, bytes, capacity - 1);
        close(file);
        length = got > 0 ? static_cast<std::size_t>(got) : 0;
        bytes[length] = '\0';
        return got > 0;
    }
};

} // namespace umadvisor::base
