/// Files of summaries: a line of JSON for each process. Such files can be concatenated.
#pragma once

#include "analyzer/ranks/summary.hpp"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

namespace umadvisor::ranks {

/// Whether the file begins as JSON does, and hence is no trace.
bool holds_summaries(const std::string& path);

/// Calls `visit` with each line that is not empty and its offset in the file. Throws reader::Error: the file
/// cannot be read, or a line is longer than any summary.
void for_each_line(const std::string& path,
                   const std::function<void(std::string_view line, std::uint64_t offset)>& visit);

/// One job of several parts, which may themselves be jobs: a line for each process, in the order of their
/// ranks. In whatever order and groups parts are added, the same lines come out. Memory: a few hundred bytes a
/// process, and the text of those that have no file.
class Merged {
public:
    /// All lines of a file. Throws reader::Error: it cannot be read, or holds something else.
    void add_file(const std::string& path);
    void add(const Summary& summary);

    std::size_t size() const { return lines_.size(); }
    /// Number of processes that called CUDA; the others are launchers and workers of another kind.
    std::size_t useful() const { return useful_; }
    /// Number of processes whose traces are damaged, with no call left.
    std::size_t unknown() const { return unknown_; }
    /// Reads the files once more. Throws reader::Error.
    void write(const std::function<void(std::string_view)>& out) const;

private:
    /// Ranks that are numbers come first, by number; processes without a rank come last.
    using Order = std::tuple<int, std::uint64_t, std::string, std::string>;
    struct Line {
        std::string text; ///< empty: it is in the file
        std::size_t file = 0;
        std::uint64_t offset = 0;
        std::size_t hash = 0;
    };
    void add(const Summary& summary, Line line);

    std::map<Order, Line> lines_;
    std::vector<std::string> files_;
    std::size_t useful_ = 0, unknown_ = 0;
};

} // namespace umadvisor::ranks
