/// Lines of source files that a trace or debug information names.
#pragma once

#include "analyzer/symbols/options.hpp"

#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace umadvisor::symbols {

/// A line of a source as reports quote it: without what it is indented by, up to 200 bytes.
std::string quoted(std::string_view line);

/// A trace may name any file, and a report goes to others: shown are lines of regular files that have the
/// suffix of a source and that were not changed after the run. Files are read once, up to 16 MiB of each. Not
/// thread-safe.
class SourceFiles {
public:
    explicit SourceFiles(const Options& options) : options_(options) {}

    /// The line as it is quoted; empty where it is not shown. Lines count from 1.
    std::string line(const std::string& path, int number);
    /// All of a file of which lines may be shown; else empty. Valid until the next call.
    const std::string& text(const std::string& path) { return read(path).text; }

    /// Why sources are not shown that are there; at most one line.
    std::vector<std::string> notes() const;

private:
    struct File {
        std::string text;
        std::vector<std::size_t> lines; ///< where they begin
    };
    const File& read(const std::string& path);
    std::string read_text(const std::string& path);

    const Options options_;
    std::map<std::string, File> files_;
    std::size_t held_ = 0; ///< bytes
    bool withheld_ = false;
    std::set<std::string> changed_; ///< files
};

} // namespace umadvisor::symbols
