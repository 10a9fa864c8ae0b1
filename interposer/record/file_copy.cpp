#include "interposer/record/file_copy.hpp"

#include "interposer/record/output_file.hpp"

#include <cerrno>
#include <cstdio>
#include <fcntl.h>
#include <unistd.h>

namespace umadvisor::record {

namespace {

bool write_all(int to, const std::uint8_t* data, std::size_t bytes, off_t offset) noexcept {
    while (bytes != 0) {
        const ssize_t done = pwrite(to, data, bytes, offset);
        if (done < 0 && errno == EINTR)
            continue;
        if (done <= 0)
            return false;
        data += done;
        offset += done;
        bytes -= static_cast<std::size_t>(done);
    }
    return true;
}

/// For file systems without copy_file_range(2).
bool copy_by_hand(int from, int to, off_t offset, off_t end) noexcept {
    static std::uint8_t buffer[trace::chunk_bytes]; // one copy at a time
    while (offset < end) {
        const ssize_t got = pread(from, buffer, sizeof buffer, offset);
        if (got < 0 && errno == EINTR)
            continue;
        if (got == 0)
            return true; // a hole at the end
        if (got < 0 || !write_all(to, buffer, static_cast<std::size_t>(got), offset))
            return false;
        offset += got;
    }
    return true;
}

} // namespace

const char* FileCopy::copy_into(int to) const noexcept {
    const auto end = static_cast<off_t>(bytes);
    off_t read = sizeof header, written = sizeof header;
    while (read < end) {
        const ssize_t done =
            copy_file_range(from, &read, to, &written, static_cast<std::size_t>(end - read), 0);
        if (done < 0 && errno == EINTR)
            continue;
        if (done == 0)
            break;
        if (done < 0 && !copy_by_hand(from, to, read, end))
            return describe(errno);
        if (done < 0)
            break;
    }
    return ftruncate(to, end) == 0 && write_all(to, header, sizeof header, 0) ? nullptr : describe(errno);
}

const char* FileCopy::write(const char* path) noexcept {
    const int to = from < 0 ? -1 : ::open(path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    const char* why = to < 0 ? describe(errno) : copy_into(to);
    if (to >= 0 && ::close(to) != 0 && why == nullptr)
        why = describe(errno);
    if (to >= 0 && why != nullptr)
        unlink(path);
    if (from >= 0)
        ::close(from);
    from = -1;
    if (why == nullptr)
        return nullptr;
    static char text[512]; // one copy at a time
    std::snprintf(text, sizeof text, "cannot create %s: %s", path, why);
    return text;
}

} // namespace umadvisor::record
