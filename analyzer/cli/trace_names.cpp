#include "analyzer/cli/trace_names.hpp"

#include "analyzer/files/new_file.hpp"
#include "analyzer/reader/error.hpp"
#include "analyzer/reader/header.hpp"
#include "analyzer/reader/source.hpp"
#include "trace/layout.hpp"
#include "trace/rank.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <sys/stat.h>

namespace umadvisor::cli {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t most_shown = 80; ///< of a name that is too long

fs::path folder_of(const fs::path& output) {
    return output.has_parent_path() ? output.parent_path() : fs::path(".");
}

/// FILE itself, or FILE with a pid before its suffix.
bool belongs(const fs::path& candidate, const fs::path& output) {
    const std::string name = candidate.filename().string();
    if (name == output.filename().string())
        return true;
    const std::string stem = output.stem().string() + ".", suffix = output.extension().string();
    if (!name.starts_with(stem) || !name.ends_with(suffix) || name.size() <= stem.size() + suffix.size())
        return false;
    return std::all_of(name.begin() + static_cast<std::ptrdiff_t>(stem.size()),
                       name.end() - static_cast<std::ptrdiff_t>(suffix.size()),
                       [](char c) { return (c >= '0' && c <= '9') || c == '.' || c == '-'; });
}

/// Why no file can be made in `folder`. It tries to make one, since permissions do not show that a folder is
/// in /proc, or its file system read-only or full.
std::string writing_trouble(const fs::path& folder) {
    const files::NewFile file(folder / "", 0600);
    return file.error() == 0 ? std::string() : std::strerror(file.error());
}

/// The longest name that a further process may give its trace: its pid, and which of its programs it is.
fs::path longest_sibling(const fs::path& output) {
    return output.parent_path() / (output.stem().string() + ".4194304-99" + output.extension().string());
}

/// A trace, by its first bytes, or a file without any: all else that a user has there stays, even by force.
bool is_trace_or_empty(const std::string& path) {
    std::array<char, trace::file_magic.size()> begin{};
    std::ifstream file(path, std::ios::binary);
    if (!file)
        return false;
    file.read(begin.data(), begin.size());
    return file.gcount() == 0 || begin == trace::file_magic;
}

bool is_too_long(const fs::path& path) {
    struct stat status {};
    return ::lstat(path.c_str(), &status) != 0 && errno == ENAMETOOLONG;
}

} // namespace

std::string rank_output(const std::string& output) {
    const std::string_view rank = trace::launch_rank();
    if (!trace::needs_rank(output, rank))
        return output;
    const std::size_t suffix = trace::suffix_of(output);
    return fmt::format("{}.{}{}", output.substr(0, suffix), rank, output.substr(suffix));
}

std::string output_trouble(const std::string& output, bool force) {
    const fs::path path(output);
    const fs::path folder = folder_of(path);
    struct stat status {};
    if (!output.empty() && (is_too_long(path) || is_too_long(longest_sibling(path))))
        return fmt::format("{}...: {}{}; name another output", output.substr(0, most_shown),
                           std::strerror(ENAMETOOLONG),
                           is_too_long(path) ? "" : " with a pid before its suffix");
    if (!output.empty() && ::lstat(output.c_str(), &status) == 0) {
        if (!S_ISREG(status.st_mode))
            return output + ": exists and is not a regular file; name another output";
        if (!force)
            return output + ": exists already; -f replaces it";
        if (!is_trace_or_empty(output))
            return output + ": exists and is no trace, so -f does not replace it; name another output";
    }
    if (::stat(folder.c_str(), &status) != 0)
        return fmt::format("{}: {}; the trace cannot be written there", folder.string(), std::strerror(errno));
    if (!S_ISDIR(status.st_mode))
        return folder.string() + ": is not a directory; the trace cannot be written there";
    if (const std::string trouble = writing_trouble(folder); !trouble.empty())
        return fmt::format("{}: {}; name a writable output with -o", folder.string(), trouble);
    return {};
}

std::vector<std::string> find_traces(const std::string& output) {
    const fs::path path(output);
    std::vector<std::string> found;
    std::error_code failed;
    for (fs::directory_iterator entry(folder_of(path), failed), end; !failed && entry != end;
         entry.increment(failed))
        if (belongs(entry->path(), path))
            found.push_back(entry->path().string());
    std::sort(found.begin(), found.end());
    std::stable_partition(found.begin(), found.end(), [&](const std::string& name) {
        return fs::path(name).filename() == path.filename();
    });
    return found;
}

std::vector<FoundTrace> find_traces_since(const std::string& output, std::uint64_t begin) {
    std::vector<std::string> candidates;
    if (!output.empty()) {
        candidates = find_traces(output);
    } else {
        std::error_code failed;
        for (fs::directory_iterator entry(".", failed), end; !failed && entry != end; entry.increment(failed))
            if (entry->path().extension() == ".umtrace")
                candidates.push_back(entry->path().string());
        std::sort(candidates.begin(), candidates.end());
    }
    std::vector<FoundTrace> found;
    for (const std::string& path : candidates) {
        try {
            const reader::Header header = reader::read_header(reader::Source(path));
            if (header.realtime_ns >= begin)
                found.push_back({fs::absolute(path).lexically_normal().string(), std::to_string(header.pid)});
        } catch (const reader::Error&) { // no trace, or not ours to read
        }
    }
    return found;
}

} // namespace umadvisor::cli
