// librefuse_tools_device.so: preloaded, makes a machine that does not let a program at the driver's tools
// queue.
#include <cerrno>
#include <cstdarg>
#include <cstring>
#include <fcntl.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace {

int open_others(const char* path, int flags, mode_t mode) {
    if (std::strcmp(path, "/dev/nvidia-uvm-tools") == 0) {
        errno = EACCES;
        return -1;
    }
    return static_cast<int>(syscall(SYS_openat, AT_FDCWD, path, flags, mode));
}

} // namespace

extern "C" {

int open(const char* path, int flags, ...) {
    va_list arguments;
    va_start(arguments, flags);
    const mode_t mode = va_arg(arguments, mode_t);
    va_end(arguments);
    return open_others(path, flags, mode);
}

int open64(const char* path, int flags, ...) __attribute__((alias("open")));
}
