#include "analyzer/cli/run_list.hpp"

#include "analyzer/reader/error.hpp"
#include "trace/run_list.hpp"

#include <fstream>

namespace umadvisor::cli {

RunList::RunList() {
    if (!std::ofstream(path_))
        throw reader::Error(path_ + ": cannot be written; TMPDIR names another folder");
}

std::vector<RunProcess> RunList::processes() const {
    std::vector<RunProcess> all;
    std::ifstream file(path_, std::ios::binary);
    for (std::string entry; std::getline(file, entry, '\0');) {
        const std::size_t blank = entry.find(' ');
        if (blank == std::string::npos)
            continue;
        const std::string pid = entry.substr(1, blank - 1), text = entry.substr(blank + 1);
        if (entry.front() == static_cast<char>(trace::RunEntryKind::trace))
            all.push_back({pid, text, {}});
        else if (entry.front() == static_cast<char>(trace::RunEntryKind::trouble))
            all.push_back({pid, {}, text});
    }
    return all;
}

} // namespace umadvisor::cli
