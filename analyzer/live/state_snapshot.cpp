#include "analyzer/live/state_snapshot.hpp"

#include "analyzer/reader/error.hpp"

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <sys/stat.h>

namespace umadvisor::live {
namespace {

/// As the process calls it, of which only /tmp is known where it is in another mount namespace.
std::string temporary_folder(const Process& process) {
    if (process.reach("/") != "/")
        return "/tmp";
    std::error_code failed;
    const std::filesystem::path folder = std::filesystem::temp_directory_path(failed);
    return failed ? "/tmp" : std::filesystem::absolute(folder).string();
}

} // namespace

StateSnapshot::StateSnapshot(Connection& connection) {
    const Process& process = connection.process();
    if (process.pid == 0)
        throw reader::Error(
            fmt::format("process {} runs in a container whose files are not seen here", process.text()));
    const std::string folder = temporary_folder(process), reached = process.reach(folder);
    folder_.emplace(reached, "top");
    if (::mkdir(folder_->path().c_str(), 0700) != 0)
        throw reader::Error(reached + ": " + std::strerror(errno));
    constexpr const char* name = "/state.umtrace";
    path_ = folder_->path() + name;
    const std::string there = folder + folder_->path().substr(reached.size()) + name;
    connection.ask(Request("snapshot").with("state", "1").with("output", there));
}

} // namespace umadvisor::live
