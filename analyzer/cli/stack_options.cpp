#include "analyzer/cli/stack_options.hpp"

#include "analyzer/cli/progress.hpp"
#include "analyzer/reader/error.hpp"

#include <cstdlib>
#include <filesystem>
#include <iterator>

namespace umadvisor::cli {
namespace {

namespace fs = std::filesystem;

std::string variable(const char* name) {
    const char* const value = std::getenv(name);
    return value == nullptr ? std::string() : value;
}

/// Where the XDG base directory specification wants it; a relative path there does not count.
std::string cache_folder() {
    if (const std::string folder = variable("XDG_CACHE_HOME"); folder.starts_with('/'))
        return folder + "/umadvisor/symbols";
    const std::string home = variable("HOME");
    return home.starts_with('/') ? home + "/.cache/umadvisor/symbols" : std::string();
}

/// Absolute, since libdw takes relative names from the file it looks into.
std::string folder_of(const std::string& flag, const std::string& given) {
    std::error_code failed;
    const fs::path path = fs::absolute(given, failed).lexically_normal();
    if (given.empty() || failed || !fs::is_directory(path, failed))
        throw reader::Error(flag + " " + given + ": is not a directory");
    if (path.string().find(':') != std::string::npos) // separates folders in what libdw is told
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
        {"--hide", "GLOB", "Not the program's own code: module, file or function; repeatable", true},
        {"--show", "GLOB", "The program's own code all the same; repeatable", true},
        {"--debug-dir", "DIR", "Debug files, as in /usr/lib/debug; repeatable", true},
        {"--sysroot", "DIR", "Files of the machine that the trace is from"},
        {"--debuginfod", "", "Fetch debug files from the servers in DEBUGINFOD_URLS"},
        {"--no-cache", "", "Look every symbol up anew"},
    };
    own.insert(own.end(), std::begin(shared), std::end(shared));
    return own;
}

symbols::Options stack_options() {
    symbols::Options options;
    options.cache = cache_folder();
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
    options.debuginfod = arguments.has("--debuginfod");
    if (options.debuginfod && variable("DEBUGINFOD_URLS").empty())
        throw reader::Error("--debuginfod asks the servers in DEBUGINFOD_URLS, and there are none");
    if (arguments.has("--no-cache"))
        options.cache.clear();
    return options;
}

} // namespace umadvisor::cli
