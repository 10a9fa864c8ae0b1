#include "analyzer/live/process.hpp"

#include "analyzer/reader/plain.hpp"
#include "analyzer/text/shell_word.hpp"

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <fmt/core.h>
#include <fstream>
#include <iterator>
#include <sstream>
#include <unistd.h>

namespace umadvisor::live {
namespace {

namespace fs = std::filesystem;

std::string path_of(pid_t pid, std::string_view file) {
    return fmt::format("/proc/{}/{}", pid, file);
}

/// Empty where it cannot be read.
std::string read_file(const std::string& path) {
    std::ifstream file(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
}

std::string link_of(const std::string& path) {
    std::error_code failed;
    return fs::read_symlink(path, failed).string();
}

/// The words after `key` in /proc/PID/status.
std::istringstream words_of(const std::string& status, std::string_view key) {
    const std::size_t at = status.find("\n" + std::string(key) + ":");
    return std::istringstream(
        at == std::string::npos
            ? std::string()
            : status.substr(at + key.size() + 2, status.find('\n', at + 1) - at - key.size() - 2));
}

std::string without_line_feed(std::string text) {
    if (text.ends_with('\n'))
        text.pop_back();
    return text;
}

} // namespace

std::string Process::text() const {
    return fmt::format("{} ({})", pid != 0 ? pid : inner_pid, reader::plain(name));
}

std::string Process::reach(const std::string& path) const {
    const std::string there = pid == 0 ? std::string() : link_of(path_of(pid, "ns/mnt"));
    return there.empty() || there == link_of("/proc/self/ns/mnt") ? path : path_of(pid, "root") + path;
}

std::string Process::variable(std::string_view variable) const {
    const std::string all = '\0' + read_file(path_of(pid, "environ"));
    const std::string key = '\0' + std::string(variable) + "=";
    const std::size_t at = all.find(key);
    return at == std::string::npos ? std::string() : std::string(all.c_str() + at + key.size());
}

bool Process::has_shim() const {
    return read_file(path_of(pid, "maps")).find("/libumadvisor.so") != std::string::npos;
}

std::optional<Process> read_process(pid_t pid) {
    const std::string status = read_file(path_of(pid, "status"));
    Process process;
    uid_t real = 0;
    if (!(words_of(status, "Uid") >> real >> process.user))
        return std::nullopt;
    process.pid = process.inner_pid = pid;
    std::istringstream numbers = words_of(status, "NSpid");
    for (pid_t number = 0; numbers >> number;)
        process.inner_pid = number; // the innermost namespace comes last
    process.comm = without_line_feed(read_file(path_of(pid, "comm")));
    std::string executable = link_of(path_of(pid, "exe"));
    if (constexpr std::string_view gone = " (deleted)"; executable.ends_with(gone))
        executable.resize(executable.size() - gone.size());
    process.program = fs::path(executable).filename().string();
    process.name =
        executable.empty() ? process.comm : text::program_name(executable, read_file(path_of(pid, "cmdline")));
    return process;
}

std::vector<Process> own_processes() {
    std::vector<Process> all;
    std::error_code failed;
    for (auto entry = fs::directory_iterator("/proc", failed); !failed && entry != fs::directory_iterator();
         entry.increment(failed)) {
        const std::string name = entry->path().filename().string();
        pid_t pid = 0;
        if (std::from_chars(name.data(), name.data() + name.size(), pid).ptr != name.data() + name.size() ||
            pid == ::getpid())
            continue;
        if (std::optional<Process> process = read_process(pid); process && process->user == ::geteuid())
            all.push_back(std::move(*process));
    }
    std::ranges::sort(all, {}, &Process::pid);
    return all;
}

} // namespace umadvisor::live
