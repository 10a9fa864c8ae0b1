#include "analyzer/cli/prove/tree_copy.hpp"

#include "analyzer/cli/prove/cmake_cache.hpp"
#include "analyzer/cli/run/launcher.hpp"
#include "analyzer/cli/run/program_file.hpp"
#include "analyzer/cli/run/run_results.hpp"
#include "analyzer/cli/run/working_directory.hpp"
#include "analyzer/reader/error.hpp"
#include "analyzer/reader/plain.hpp"

#include <deque>
#include <fmt/format.h>
#include <fstream>
#include <iostream>

namespace umadvisor::cli {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t shown_lines = 20;

void show_end(const std::string& log) {
    std::ifstream lines(log, std::ios::binary);
    std::deque<std::string> last;
    for (std::string line; std::getline(lines, line); last.push_back(std::move(line)))
        if (last.size() == shown_lines)
            last.pop_front();
    for (const std::string& line : last)
        std::cerr << "  " << reader::plain(line) << "\n";
}

/// What to do where a build of CMake is not the copy's.
std::string own_build(const std::string& folder) {
    return fmt::format(
        "CMake configured {} for the original tree; configure a folder in the copy: --build 'cmake -B "
        "build-prove && cmake --build build-prove', and name the program in it",
        folder);
}

/// Of the builds that the copies lack, the one that a path leads into; empty: none.
std::string lacking_build(const fs::path& path, const TreeCopy& copy) {
    const fs::path name = path.lexically_normal().lexically_relative(copy.root);
    for (const fs::path& build : copy.original.builds())
        if (const fs::path inner = name.lexically_relative(build); !inner.empty() && *inner.begin() != "..")
            return build.string();
    return {};
}

void check_caches(const TreeCopy& copy) {
    const fs::directory_options options = fs::directory_options::skip_permission_denied;
    std::error_code failed;
    for (fs::recursive_directory_iterator each(copy.root, options, failed), end; !failed && each != end;
         each.increment(failed)) {
        const fs::path folder = each->path().parent_path();
        if (each->path().filename() != "CMakeCache.txt")
            continue;
        if (const std::optional<fs::path> home = cmake_home(folder); home && copy.original.holds(*home))
            throw reader::Error(own_build(folder.lexically_relative(copy.root).string()));
    }
}

} // namespace

void build(const TreeCopy& copy, const std::string& command) {
    if (const std::string lacking = lacking_build(copy.folder, copy); !lacking.empty())
        throw reader::Error(own_build(lacking));
    if (command.empty())
        return;
    const std::string log = copy.beside("-build.log");
    const WorkingDirectory there(copy.folder.string());
    const int status = run_program("/bin/sh", {"sh", "-c", command}, {}, {"/dev/null", log, log});
    if (status != 0) {
        show_end(log);
        throw reader::Error(fmt::format(
            "the {} program does not build: {} of: {}{}", copy.name, status_text(status), command,
            copy.original.builds().empty() ? ""
                                           : "; copies lack " + copy.original.builds().front().string() +
                                                 ", which CMake configured for the original tree"));
    }
    check_caches(copy);
}

std::string program_of(const TreeCopy& copy, const std::string& name) {
    const WorkingDirectory there(copy.folder.string());
    const ProgramFile program = find_program(name);
    if (!program.trouble.empty()) {
        const std::string lacking = lacking_build(copy.folder / name, copy);
        throw reader::Error(lacking.empty() ? fmt::format("the {} program: {}", copy.name, program.trouble)
                                            : fmt::format("{}: {}", name, own_build(lacking)));
    }
    if (copy.original.holds(fs::absolute(program.path)))
        throw reader::Error(
            fmt::format("{} is {}, a program of the original tree; name it from the working directory", name,
                        program.path));
    return program.path;
}

} // namespace umadvisor::cli
