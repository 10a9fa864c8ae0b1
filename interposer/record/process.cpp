#include "interposer/record/process.hpp"

#include "interposer/base/text.hpp"
#include "interposer/record/recorder.hpp"

#include <cstdlib>
#include <fcntl.h>
#include <string_view>
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

std::string_view rank() noexcept {
    // torchrun; Open MPI; MPICH and those made of it; Slurm; Kubernetes, of indexed jobs and job sets.
    for (const char* name : {"RANK", "OMPI_COMM_WORLD_RANK", "PMI_RANK", "PMIX_RANK", "MV2_COMM_WORLD_RANK",
                             "SLURM_PROCID", "JOB_COMPLETION_INDEX"})
        if (const char* value = getenv(name); value != nullptr && *value != '\0')
            return base::first(std::string_view(value), 64);
    return {};
}

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
    record.rank = rank();
    define(record);
}

} // namespace umadvisor::record
