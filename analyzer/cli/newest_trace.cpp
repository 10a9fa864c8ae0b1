#include "analyzer/cli/newest_trace.hpp"

#include "analyzer/cli/message.hpp"
#include "analyzer/reader/error.hpp"

#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fmt/format.h>
#include <spawn.h>
#include <unistd.h>

namespace umadvisor::cli {

namespace fs = std::filesystem;

std::string newest_trace() {
    fs::path newest;
    fs::file_time_type written;
    std::error_code failed;
    for (const fs::directory_entry& each : fs::directory_iterator(".", failed)) {
        std::error_code unreadable;
        const fs::file_time_type time = each.last_write_time(unreadable);
        if (each.path().extension() == ".umtrace" && each.is_regular_file(unreadable) && !unreadable &&
            (newest.empty() || time > written)) {
            newest = each.path().filename();
            written = time;
        }
    }
    if (newest.empty())
        throw reader::Error("there is no trace (.umtrace) in this folder: name one, or record one with "
                            "umadvisor run -- PROGRAM");
    return newest.string();
}

bool is_reportable(const std::string& name) {
    const fs::path path(name);
    std::error_code failed;
    return (path.extension() == ".umtrace" || path.extension() == ".umjob") && fs::exists(path, failed);
}

void open_in_browser(const std::string& file) {
    const char* const named = std::getenv("BROWSER");
    std::string program = named == nullptr || *named == '\0' ? "xdg-open" : named, name = file;
    char* const arguments[] = {program.data(), name.data(), nullptr};
    pid_t process = 0;
    if (const int error = ::posix_spawnp(&process, program.c_str(), nullptr, nullptr, arguments, environ);
        error != 0)
        say(fmt::format("{}: {}; open {} yourself, or name a browser in BROWSER", program, std::strerror(error),
                        file));
}

} // namespace umadvisor::cli
