#include "analyzer/cli/trace_names.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <sys/stat.h>
#include <unistd.h>

namespace umadvisor::cli {
namespace {

namespace fs = std::filesystem;

fs::path folder_of(const fs::path& output) {
    return output.has_parent_path() ? output.parent_path() : fs::path(".");
}

/// FILE itself, or FILE with ranks and pids before its suffix.
bool belongs(const fs::path& candidate, const fs::path& output) {
    const std::string name = candidate.filename().string();
    if (output.empty())
        return candidate.extension() == ".umtrace";
    if (name == output.filename().string())
        return true;
    const std::string stem = output.stem().string() + ".", suffix = output.extension().string();
    if (!name.starts_with(stem) || !name.ends_with(suffix) || name.size() <= stem.size() + suffix.size())
        return false;
    return std::all_of(name.begin() + static_cast<std::ptrdiff_t>(stem.size()),
                       name.end() - static_cast<std::ptrdiff_t>(suffix.size()),
                       [](char c) { return (c >= '0' && c <= '9') || c == '.'; });
}

bool changed_since(const fs::path& path, std::int64_t since_ns) {
    struct stat status {};
    if (::stat(path.c_str(), &status) != 0 || !S_ISREG(status.st_mode))
        return false;
    const std::int64_t changed = status.st_ctim.tv_sec * 1'000'000'000LL + status.st_ctim.tv_nsec;
    // File times come from the kernel's coarse clock, which may lie a tick (10 ms at 100 Hz) behind.
    return changed + 10'000'000 >= since_ns;
}

} // namespace

std::string output_trouble(const std::string& output, bool force) {
    const fs::path path(output);
    const fs::path folder = folder_of(path);
    struct stat status {};
    if (!output.empty() && ::lstat(output.c_str(), &status) == 0) {
        if (!S_ISREG(status.st_mode))
            return output + ": exists and is not a regular file; name another output";
        if (!force)
            return output + ": exists already; -f replaces it";
    }
    if (::stat(folder.c_str(), &status) != 0)
        return folder.string() + ": " + std::strerror(errno) + "; the trace cannot be written there";
    if (!S_ISDIR(status.st_mode))
        return folder.string() + ": is not a directory; the trace cannot be written there";
    if (::access(folder.c_str(), W_OK | X_OK) != 0)
        return folder.string() + ": " + std::strerror(errno) + "; name a writable output with -o";
    return {};
}

std::vector<std::string> find_traces(const std::string& output, std::int64_t since_ns) {
    const fs::path path(output);
    std::vector<std::string> found;
    std::error_code failed;
    for (fs::directory_iterator entry(folder_of(path), failed), end; !failed && entry != end;
         entry.increment(failed))
        if (belongs(entry->path(), path) && changed_since(entry->path(), since_ns))
            found.push_back(output.empty() ? entry->path().filename().string() : entry->path().string());
    std::sort(found.begin(), found.end());
    std::stable_partition(found.begin(), found.end(), [&](const std::string& name) {
        return fs::path(name).filename() == path.filename();
    });
    return found;
}

} // namespace umadvisor::cli
