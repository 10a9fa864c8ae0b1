#include "interposer/runtime/run_list.hpp"

#include "interposer/runtime/options.hpp"

#include <cstdio>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

namespace umadvisor::runtime {

bool tell_run(trace::RunEntryKind kind, const char* folder, const char* text) noexcept {
    const char* const list = options().run;
    if (list[0] == '\0')
        return false;
    // The variable may have outlived its run: nothing is created, and what is no list's kind is left alone.
    const int file = open(list, O_WRONLY | O_APPEND | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    if (file < 0)
        return false;
    static char entry[8600]; // of the one thread that enters
    const int length = std::snprintf(entry, sizeof entry, "%c%d %s%s%s", static_cast<char>(kind),
                                     static_cast<int>(getpid()), folder, *folder != '\0' ? "/" : "", text);
    struct stat status;
    const bool told = fstat(file, &status) == 0 && S_ISREG(status.st_mode) && length > 0 &&
                      static_cast<std::size_t>(length) < sizeof entry &&
                      write(file, entry, static_cast<std::size_t>(length) + 1) == length + 1;
    close(file);
    return told;
}

} // namespace umadvisor::runtime
