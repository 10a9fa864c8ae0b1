#include "analyzer/symbols/module_file.hpp"

#include <filesystem>

namespace umadvisor::symbols {

std::string file_path(std::string_view path, const Options& options) {
    return options.sysroot + std::string(path);
}

std::vector<std::string> debug_folders(const Options& options) {
    std::vector<std::string> folders = options.debug_folders;
    if (!options.sysroot.empty())
        folders.push_back(options.sysroot + "/usr/lib/debug");
    folders.emplace_back("/usr/lib/debug");
    return folders;
}

std::vector<std::string> build_id_paths(std::string_view build_id, const Options& options) {
    std::vector<std::string> paths;
    if (build_id.size() < 2)
        return paths;
    std::string name = "/.build-id/";
    for (std::size_t i = 0; i < build_id.size(); ++i) {
        constexpr char digits[] = "0123456789abcdef";
        const auto byte = static_cast<unsigned char>(build_id[i]);
        name += digits[byte >> 4];
        name += digits[byte & 15];
        if (i == 0)
            name += '/';
    }
    for (const std::string& folder : debug_folders(options))
        for (const char* suffix : {".debug", ""})
            paths.push_back(folder + name + suffix);
    return paths;
}

bool is_plain_file(const std::string& path) {
    std::error_code failed;
    return std::filesystem::is_regular_file(path, failed);
}

} // namespace umadvisor::symbols
