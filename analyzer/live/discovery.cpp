#include "analyzer/live/discovery.hpp"

#include "analyzer/live/socket_place.hpp"
#include "analyzer/reader/error.hpp"

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <unistd.h>

namespace umadvisor::live {
namespace {

namespace fs = std::filesystem;

void connect(const Process& process, Discovery& found) {
    try {
        if (std::optional<Connection> connection = Connection::open(process))
            found.connections.push_back(std::move(*connection));
    } catch (const reader::Error& error) {
        if (std::ranges::find(found.refusals, error.what()) == found.refusals.end())
            found.refusals.emplace_back(error.what());
    }
}

/// Those that have a socket in the shared folder and no number here.
std::vector<Process> unseen_processes() {
    std::vector<Process> all;
    std::error_code failed;
    const std::string folder = shared_folder();
    if (folder.empty())
        return all;
    for (auto entry = fs::directory_iterator(folder, failed); !failed && entry != fs::directory_iterator();
         entry.increment(failed)) {
        const std::string name = entry->path().filename().string();
        Process process;
        if (std::from_chars(name.data(), name.data() + name.size(), process.inner_pid).ptr ==
            name.data() + name.size()) {
            process.user = ::geteuid();
            process.name = "in another container";
            all.push_back(std::move(process));
        }
    }
    return all;
}

} // namespace

Discovery discover(const Known& known) {
    Discovery found;
    for (const Process& process : own_processes())
        if (!known.contains({process.pid, process.inner_pid}))
            connect(process, found);
    for (const Process& process : unseen_processes())
        if (!known.contains({0, process.inner_pid}))
            connect(process, found);
    return found;
}

Discovery discover(const Process& process) {
    Discovery found;
    connect(process, found);
    return found;
}

} // namespace umadvisor::live
