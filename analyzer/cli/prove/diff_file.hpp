/// A diff, as `umadvisor patch` writes it.
#pragma once

#include "analyzer/symbols/code_place.hpp"

#include <filesystem>
#include <map>
#include <string>
#include <vector>

namespace umadvisor::cli {

class DiffFile {
public:
    /// Reads `path`. What is no part of a diff is passed over. Throws reader::Error where it cannot be read.
    explicit DiffFile(const std::string& path);

    const std::string& text() const { return text_; }
    /// The files that it changes, relative to its root.
    std::vector<std::string> files() const;
    /// The findings that the text around its sections names: "UMA-407 page-locked again, a.cu:7 in main():
    /// ...".
    const std::vector<std::string>& findings() const { return findings_; }
    /// The number that a line of the sources has after the change; 0: it is changed or removed. Lines of files
    /// that the diff does not name stay.
    int moved(const symbols::CodePlace& place) const;

    /// Changes the files below `root`, by `git apply`, or by `patch -p1` where there is no git. `kept` is a
    /// file with the diff's text. Throws reader::Error with what the tool says first; some files may be changed
    /// then.
    void apply(const std::filesystem::path& root, const std::filesystem::path& kept) const;

private:
    struct Hunk {
        long first = 0, end = 0;   ///< lines that it covers
        long further = 0;          ///< what is to be added to the numbers of lines below
        std::map<long, long> kept; ///< new numbers of its unchanged lines, by their old ones
    };
    void parse();
    std::string path_, text_;
    std::map<std::string, std::vector<Hunk>> hunks_; ///< by file, as they stand in it
    std::vector<std::string> findings_;
};

} // namespace umadvisor::cli
