/// A file that is one page at the most, as those of /proc and of control groups are.
#pragma once

#include <cstddef>
#include <fcntl.h>
#include <string_view>
#include <unistd.h>

namespace umadvisor::act {

struct SmallFile {
    char bytes[4096];
    std::size_t length = 0;

    std::string_view view() const noexcept { return {bytes, length}; }

    /// Its text, ended by a zero. False where there is none.
    bool read(const char* path) noexcept {
        const int file = open(path, O_RDONLY | O_CLOEXEC);
        if (file < 0)
            return false;
        const ssize_t got = ::read(file, bytes, sizeof bytes - 1);
        close(file);
        length = got > 0 ? static_cast<std::size_t>(got) : 0;
        bytes[length] = '\0';
        return got > 0;
    }
};

} // namespace umadvisor::act
