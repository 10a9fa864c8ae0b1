#include "analyzer/cli/stack_options.hpp"

#include "analyzer/cli/terminal/progress.hpp"
#include "analyzer/cli/user_folders.hpp"
#include "analyzer/reader/error.hpp"

#include <cstdlib>
#include <filesystem>
#include <iterator>

namespace umadvisor::cli {
namespace {

namespace fs = std::filesystem;

/// Absolute, since libdw takes relative names from the file it looks into.
std::string folder_of(const std::string& flag, const std::string& given) {
    std::error_code failed;
    const fs::path path = fs::absolute(given, failed).lexically_normal();
    if (given.empty() || failed || !fs::is_directory(path, failed))
        throw reader::Error(fmt::format("{} {}: is not a directory", flag, given));
    if (path.string().find(':') != std::string::npos) // libdw's list of folders is separated by colons
        throw reader::Error(flag + " " + given + ": a colon in its path keeps it from being looked into");
    std::string folder = path.string();
    while (folder.size() > 1 && folder.ends_with('/'))
        folder.pop_back();
    return folder == "/" ? std::string() : folder;
}

} // namespace

std::vector<OptionSpec> with_stack_options(std::vector<OptionSpec> own) {
    const OptionSpec shared[] = {
        {"--full-stacks", "", "Whole stacks, also frames of CUDA and of known frameworks"},
        {"--hide", "GLOB", "Do not count as the program's own code: module, file or function; repeatable",
         true},
        {"--show", "GLOB", "Count as the program's own code; repeatable", true},
    };
    own.insert(own.end(), std::begin(shared), std::end(shared));
    return with_symbol_options(std::move(own));
}

std::vector<OptionSpec> with_symbol_options(std::vector<OptionSpec> own) {
    const OptionSpec shared[] = {
        {"--debug-dir", "DIR", "Debug files, as in /usr/lib/debug; repeatable", true},
        {"--sysroot", "DIR", "Root folder with the files of the machine that the trace is from"},
        {"--debuginfod", "", "Fetch debug files from the servers in DEBUGINFOD_URLS"},
        {"--no-cache", "", "Look up every symbol again"},
    };
    own.insert(own.end(), std::begin(shared), std::end(shared));
    return own;
}

symbols::Options silent_stack_options() {
    symbols::Options options;
    if (const std::string folder = cache_folder(); !folder.empty())
        options.cache = folder + "/symbols";
    return options;
}

symbols::Options stack_options() {
    symbols::Options options = silent_stack_options();
    options.progress = symbol_progress();
    return options;
}

symbols::Options stack_options(const Arguments& arguments) {
    symbols::Options options = stack_options();
    options.full_stacks = arguments.has("--full-stacks");
    options.hide = arguments.values("--hide");
    options.show = arguments.values("--show");
    for (const std::string& given : arguments.values("--debug-dir"))
        options.debug_folders.push_back(folder_of("--debug-dir", given));
    if (arguments.has("--sysroot"))
        options.sysroot = folder_of("--sysroot", arguments.value("--sysroot"));
    options.foreign_source = arguments.has("--source");
    options.debuginfod = arguments.has("--debuginfod");
    const char* const servers = std::getenv("DEBUGINFOD_URLS");
    if (options.debuginfod && (servers == nullptr || *servers == '\0'))
        throw reader::Error("--debuginfod needs servers in DEBUGINFOD_URLS, which is empty");
    if (arguments.has("--no-cache"))
        options.cache.clear();
    return options;
}

} // namespace umadvisor::cli
