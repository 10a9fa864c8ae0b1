#include "analyzer/cli/run/run_list.hpp"

#include "analyzer/reader/error.hpp"
#include "trace/run_list.hpp"

#include <algorithm>
#include <fstream>
#include <iterator>
#include <string_view>

namespace umadvisor::cli {

namespace {

constexpr std::string_view magic(trace::run_list_magic.data(), trace::run_list_magic.size());

} // namespace

RunList::RunList() {
    std::ofstream file(path_, std::ios::binary);
    if (!file.write(magic.data(), magic.size()).flush())
        throw reader::Error(path_ + ": cannot be written; TMPDIR names another folder");
}

std::vector<RunProcess> RunList::processes() const {
    std::vector<RunProcess> all;
    std::ifstream file(path_, std::ios::binary);
    const std::string list(std::istreambuf_iterator<char>(file), {});
    std::string_view left = list;
    left.remove_prefix(std::min(magic.size(), left.size()));
    for (std::size_t end = 0; (end = left.find('\0')) != left.npos; left.remove_prefix(end + 1)) {
        const std::string entry(left.substr(0, end));
        const std::size_t pid_end = entry.find(' '), bytes_end = entry.find(' ', pid_end + 1);
        if (pid_end == entry.npos || bytes_end == entry.npos)
            continue;
        const std::string pid = entry.substr(1, pid_end - 1), text = entry.substr(bytes_end + 1);
        if (entry.substr(pid_end + 1, bytes_end - pid_end - 1) != std::to_string(text.size()))
            continue; // cut
        if (entry.front() == static_cast<char>(trace::RunEntryKind::trace))
            all.push_back({pid, text, {}});
        else if (entry.front() == static_cast<char>(trace::RunEntryKind::trouble))
            all.push_back({pid, {}, text});
    }
    return all;
}

} // namespace umadvisor::cli
