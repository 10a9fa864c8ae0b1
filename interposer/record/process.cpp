#include "interposer/record/process.hpp"

#include "interposer/record/control_groups.hpp"
#include "interposer/record/recorder.hpp"
#include "trace/rank.hpp"

#include <fcntl.h>
#include <string_view>
#include <sys/resource.h>
#include <unistd.h>

namespace umadvisor::record {
namespace {

std::string_view read_link(const char* path, char* buffer, std::size_t bytes) noexcept {
    const ssize_t length = readlink(path, buffer, bytes);
    return {buffer, length > 0 ? static_cast<std::size_t>(length) : 0};
}

std::string_view read_file(const char* path, char* buffer, std::size_t bytes) noexcept {
    const int fd = ::open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return {};
    std::size_t length = 0;
    while (length < bytes) {
        const ssize_t got = read(fd, buffer + length, bytes - length);
        if (got <= 0)
            break;
        length += static_cast<std::size_t>(got);
    }
    ::close(fd);
    return {buffer, length};
}

} // namespace

void define_process() noexcept {
    static char executable[4096], directory[4096], command_line[trace::max_text], host[256];
    trace::Process record;
    record.pid = static_cast<std::uint64_t>(getpid());
    record.parent = static_cast<std::uint64_t>(getppid());
    record.executable = read_link("/proc/self/exe", executable, sizeof executable);
    record.command_line = read_file("/proc/self/cmdline", command_line, sizeof command_line);
    record.directory = read_link("/proc/self/cwd", directory, sizeof directory);
    if (gethostname(host, sizeof host - 1) == 0)
        record.host = host;
    record.rank = trace::launch_rank();
    // Each is a limit plus 1, so that no limit becomes 0.
    if (rlimit limit; getrlimit(RLIMIT_MEMLOCK, &limit) == 0)
        record.lock_limit = limit.rlim_cur + 1;
    record.memory_limit = memory_limit_by_groups() + 1;
    record.recorder = UMADVISOR_VERSION;
    define(record);
}

} // namespace umadvisor::record
