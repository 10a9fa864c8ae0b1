/// The sources that a diff is for.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string_view>
#include <vector>

namespace umadvisor::cli {

/// A folder with what is below it, which is copied and never written. Copies lack `.git`, and folders that
/// CMake configured to build the tree: a build there would use the tree's sources, and write to it. Virtual
/// environments of Python are no part of the tree: copies have links to them.
class SourceTree {
public:
    /// Looks at all of `root`, a path without links. Throws reader::Error, one line, where it is too large to
    /// copy, or has what cannot be copied: special files, links by which a copy would lead into the tree,
    /// sources that are configured in their own folder.
    explicit SourceTree(std::filesystem::path root);

    const std::filesystem::path& root() const { return root_; }
    /// Of a copy.
    std::uint64_t bytes() const { return bytes_; }
    /// Folders of CMake that copies lack, relative to the root.
    const std::vector<std::filesystem::path>& builds() const { return builds_; }
    /// Whether a path leads into the tree, by links too.
    bool holds(const std::filesystem::path& path) const;
    /// Whether a word, or a text with several, has an absolute path into the tree.
    bool is_named_by(std::string_view text) const;

    /// Makes `folder`, which is not there yet. Times of files are kept, for `make`. Throws reader::Error.
    void copy_to(const std::filesystem::path& folder) const;

private:
    struct Entry {
        std::filesystem::path name; ///< relative to the root
        std::filesystem::file_type type{};
        std::filesystem::path target; ///< of a link
    };
    /// Whether the walk goes into it.
    bool add(const std::filesystem::directory_entry& entry);
    bool is_build(const std::filesystem::path& folder) const;
    std::filesystem::path target_of(const std::filesystem::path& link) const;
    bool in_environment(std::filesystem::path path) const;

    std::filesystem::path root_;
    std::vector<Entry> entries_; ///< folders before what is in them
    std::vector<std::filesystem::path> builds_;
    std::uint64_t bytes_ = 0;
};

} // namespace umadvisor::cli
