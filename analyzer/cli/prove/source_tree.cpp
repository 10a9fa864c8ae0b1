#include "analyzer/cli/prove/source_tree.hpp"

#include "analyzer/cli/prove/cmake_cache.hpp"
#include "analyzer/reader/error.hpp"
#include "analyzer/text/figures.hpp"

namespace umadvisor::cli {
namespace {

namespace fs = std::filesystem;

constexpr std::uint64_t most_bytes = std::uint64_t{2} << 30;
constexpr std::uint64_t block = 4096; ///< a file takes whole ones

bool is_in(const fs::path& folder, const fs::path& path) {
    const fs::path relative = path.lexically_relative(folder);
    return !relative.empty() && *relative.begin() != "..";
}

[[noreturn]] void fail(const fs::filesystem_error& error) {
    throw reader::Error(
        fmt::format("{}: cannot be copied: {}", error.path1().string(), error.code().message()));
}

} // namespace

SourceTree::SourceTree(fs::path root) : root_(std::move(root)) {
    try {
        is_build(root_);
        for (fs::recursive_directory_iterator each(root_), end; each != end; ++each)
            if (!add(*each))
                each.disable_recursion_pending();
    } catch (const fs::filesystem_error& error) {
        fail(error);
    }
}

bool SourceTree::add(const fs::directory_entry& entry) {
    const fs::path& path = entry.path();
    const fs::path name = path.lexically_relative(root_);
    const fs::file_type type = entry.symlink_status().type();
    if (path.filename() == ".git")
        return false;
    if (type == fs::file_type::directory && is_build(path)) {
        builds_.push_back(name);
        return false;
    }
    if (type == fs::file_type::directory && in_environment(path)) {
        entries_.push_back({name, fs::file_type::symlink, path});
        return false;
    }
    if (type != fs::file_type::directory && type != fs::file_type::regular && type != fs::file_type::symlink)
        throw reader::Error(fmt::format("{}: is no file, folder or link, and cannot be copied; --source-root "
                                        "names a folder without it",
                                        path.string()));
    entries_.push_back({name, type, type == fs::file_type::symlink ? target_of(path) : fs::path()});
    bytes_ += type == fs::file_type::regular ? (entry.file_size() + block - 1) / block * block : block;
    if (bytes_ > most_bytes)
        throw reader::Error(fmt::format("{} has more than {}, too much to copy; --source-root names a smaller "
                                        "folder",
                                        root_.string(), text::bytes_text(most_bytes)));
    return true;
}

bool SourceTree::is_build(const fs::path& folder) const {
    const std::optional<fs::path> home = cmake_home(folder);
    if (!home || !holds(*home))
        return false;
    if (is_in(folder, fs::weakly_canonical(*home)))
        throw reader::Error(fmt::format(
            "{0}: CMake has configured the sources in their own folder, so that a build of the copy would "
            "write "
            "to them; remove {0}/CMakeCache.txt and {0}/CMakeFiles, and configure in another folder",
            folder.string()));
    return true;
}

fs::path SourceTree::target_of(const fs::path& link) const {
    const fs::path target = fs::read_symlink(link);
    const fs::path whole = (link.parent_path() / target).lexically_normal();
    if (target.is_relative() && is_in(root_, whole))
        return target;
    if (holds(whole))
        throw reader::Error(fmt::format("{}: is a link to {}, by which the copy would lead into the original "
                                        "tree; make it a relative link within the tree",
                                        link.string(), target.string()));
    return whole; // a relative one leads elsewhere from the copy
}

bool SourceTree::in_environment(fs::path path) const {
    std::error_code ignored;
    for (; path != root_ && path.has_relative_path(); path = path.parent_path())
        if (fs::exists(path / "pyvenv.cfg", ignored)) // PEP 405
            return true;
    return false;
}

bool SourceTree::holds(const fs::path& path) const {
    std::error_code failed;
    const fs::path named = path.lexically_normal(), real = fs::weakly_canonical(path, failed);
    return (is_in(root_, named) && !in_environment(named)) ||
           (!failed && is_in(root_, real) && !in_environment(real));
}

bool SourceTree::is_named_by(std::string_view text) const {
    if (text.starts_with('/') && holds(text)) // also where it has spaces
        return true;
    while (!text.empty()) {
        const std::size_t end = text.find_first_of(" \t\n'\"`=:;,|&<>()");
        const std::string_view word = text.substr(0, end);
        // What stands before the path is an option: -I/usr/include.
        if (const std::size_t path = word.find('/'); path != word.npos && (path == 0 || word.front() == '-'))
            if (holds(word.substr(path)))
                return true;
        text.remove_prefix(end == text.npos ? text.size() : end + 1);
    }
    return false;
}

void SourceTree::copy_to(const fs::path& folder) const {
    try {
        fs::create_directory(folder);
        for (const Entry& entry : entries_) {
            const fs::path from = root_ / entry.name, to = folder / entry.name;
            if (entry.type == fs::file_type::symlink) {
                fs::create_symlink(entry.target, to);
                continue;
            }
            if (entry.type == fs::file_type::directory) {
                fs::create_directory(to, from); // with its permissions
                fs::permissions(to, fs::perms::owner_all, fs::perm_options::add);
                continue;
            }
            fs::copy_file(from, to);
            fs::permissions(to, fs::perms::owner_read | fs::perms::owner_write, fs::perm_options::add);
            fs::last_write_time(to, fs::last_write_time(from));
        }
    } catch (const fs::filesystem_error& error) {
        fail(error);
    }
}

} // namespace umadvisor::cli
