#include "interposer/runtime/run_list.hpp"

#include "interposer/record/file_limit.hpp"
#include "interposer/runtime/options.hpp"
#include "trace/write_or_drop.hpp"

#include <array>
#include <cstdio>
#include <cstring>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

namespace umadvisor::runtime {

namespace {

/// Whether the file is a list that a run of this user has made, and has room for an entry: a part of one would
/// spoil those of other processes.
bool takes_entry(int file, std::size_t entry_bytes) noexcept {
    struct stat status;
    std::array<char, trace::run_list_magic.size()> start;
    return fstat(file, &status) == 0 && S_ISREG(status.st_mode) && status.st_uid == geteuid() &&
           pread(file, start.data(), start.size(), 0) == static_cast<ssize_t>(start.size()) &&
           start == trace::run_list_magic &&
           record::is_within_limit(static_cast<std::uint64_t>(status.st_size) + entry_bytes);
}

} // namespace

bool report_to_run(trace::RunEntryKind kind, const char* folder, const char* text) noexcept {
    const char* const list = options().run;
    if (list[0] == '\0')
        return false;
    // The variable may have outlived its run: the file is not created, and a file that is no list is not
    // changed.
    const int file = open(list, O_RDWR | O_APPEND | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    if (file < 0)
        return false;
    static char entry[8600]; // static, since only the one thread that enters uses it
    const char* const slash = *folder != '\0' ? "/" : "";
    const std::size_t bytes = std::strlen(folder) + std::strlen(slash) + std::strlen(text);
    const int length = std::snprintf(entry, sizeof entry, "%c%c%d %zu %s%s%s", '\0', static_cast<char>(kind),
                                     static_cast<int>(getpid()), bytes, folder, slash, text);
    const bool written = length > 0 && static_cast<std::size_t>(length) < sizeof entry &&
                         takes_entry(file, static_cast<std::size_t>(length) + 1) &&
                         trace::write_or_drop(file, S_IFREG, entry, static_cast<std::size_t>(length) + 1);
    close(file);
    return written;
}

} // namespace umadvisor::runtime
