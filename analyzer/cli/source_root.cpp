#include "analyzer/cli/source_root.hpp"

#include "analyzer/reader/error.hpp"

#include <filesystem>

namespace umadvisor::cli {

std::string source_root(const Arguments& arguments) {
    namespace fs = std::filesystem;
    if (!arguments.has("--source-root")) {
        const fs::path here = fs::current_path();
        for (fs::path folder = here; folder != folder.root_path(); folder = folder.parent_path())
            if (fs::exists(folder / ".git"))
                return folder.string();
        return here.string();
    }
    std::error_code error;
    const fs::path root = fs::canonical(arguments.value("--source-root"), error);
    if (error || !fs::is_directory(root))
        throw reader::Error("--source-root " + arguments.value("--source-root") + " is no folder");
    return root.string();
}

} // namespace umadvisor::cli
