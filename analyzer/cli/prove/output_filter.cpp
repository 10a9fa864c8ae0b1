#include "analyzer/cli/prove/output_filter.hpp"

#include "analyzer/reader/error.hpp"

#include <algorithm>
#include <array>
#include <filesystem>
#include <fstream>

namespace umadvisor::cli {

std::string OutputFilter::add(const std::string& pattern) {
    auto compiled = std::make_unique<regex_t>();
    if (const int failed = ::regcomp(compiled.get(), pattern.c_str(), REG_EXTENDED); failed != 0) {
        std::array<char, 256> why{};
        ::regerror(failed, compiled.get(), why.data(), why.size());
        return why.data();
    }
    patterns_.emplace_back(compiled.release());
    return {};
}

std::string OutputFilter::without_matches(const std::string& line, const regex_t& pattern) const {
    std::string left;
    regoff_t at = 0;
    const auto size = static_cast<regoff_t>(line.size());
    while (at < size) {
        // With REG_STARTEND a line may hold zero bytes, and places are those in the line.
        regmatch_t match{at, size};
        if (::regexec(&pattern, line.c_str(), 1, &match, REG_STARTEND | (at == 0 ? 0 : REG_NOTBOL)) != 0)
            break;
        const regoff_t end = match.rm_eo == match.rm_so ? match.rm_so + 1 : match.rm_so; // nothing matched
        left.append(line, static_cast<std::size_t>(at), static_cast<std::size_t>(std::min(end, size) - at));
        at = std::max(match.rm_eo, end);
    }
    return at < size ? left.append(line, static_cast<std::size_t>(at)) : left;
}

void OutputFilter::clean(const std::string& file, const std::string& copy, const std::string& original) const {
    const std::string cleaned = file + ".cleaned";
    std::ifstream in(file, std::ios::binary);
    std::ofstream out(cleaned, std::ios::binary);
    for (std::string line; std::getline(in, line);) {
        const bool ended = !in.eof(); // by a line feed
        for (std::size_t at = 0; (at = line.find(copy, at)) != line.npos; at += original.size())
            line.replace(at, copy.size(), original);
        const bool was_empty = line.empty();
        for (const auto& pattern : patterns_)
            line = without_matches(line, *pattern);
        if (!line.empty() || was_empty)
            out << line << (ended ? "\n" : "");
    }
    std::error_code failed;
    if (out.flush())
        std::filesystem::rename(cleaned, file, failed);
    if (!out || failed)
        throw reader::Error(file + ": cannot be written");
}

} // namespace umadvisor::cli
