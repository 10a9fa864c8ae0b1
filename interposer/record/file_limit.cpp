#include "interposer/record/file_limit.hpp"

#include <algorithm>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

namespace umadvisor::record {

bool is_within_limit(std::uint64_t end) noexcept {
    rlimit limit{};
    return getrlimit(RLIMIT_FSIZE, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY || end <= limit.rlim_cur;
}

bool write_within_limit(int descriptor, const void* data, std::size_t bytes) noexcept {
    struct stat file {};
    if (fstat(descriptor, &file) != 0)
        return false;
    if (S_ISREG(file.st_mode)) { // the limit is for regular files alone
        // The write is at the file's end or at the descriptor's offset, which may be beyond the end of a
        // truncated file.
        const off_t start = std::max(file.st_size, lseek(descriptor, 0, SEEK_CUR));
        if (!is_within_limit(static_cast<std::uint64_t>(start) + bytes))
            return false;
    }
    return write(descriptor, data, bytes) == static_cast<ssize_t>(bytes);
}

} // namespace umadvisor::record
