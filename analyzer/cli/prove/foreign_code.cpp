#include "analyzer/cli/prove/foreign_code.hpp"

#include "analyzer/reader/error.hpp"

#include <fmt/format.h>
#include <set>

namespace umadvisor::cli {
namespace {

namespace fs = std::filesystem;

void refuse_libraries(const reader::Dictionary& dictionary, const TreeCopy& copy) {
    for (const auto& [id, module] : dictionary.modules)
        if (const fs::path path = module.path; path.is_absolute() && copy.original.holds(path))
            throw reader::Error(fmt::format(
                "the {} program loads {} of the original tree; have --build link and install within the "
                "copy, and name no folder of the original in LD_LIBRARY_PATH",
                copy.name, path.string()));
}

void refuse_python(const reader::Dictionary& dictionary, const TreeCopy& copy) {
    std::set<std::string_view> files;
    for (const auto& [id, code] : dictionary.python_codes)
        if (files.insert(code.file).second)
            if (const fs::path path = code.file; path.is_absolute() && copy.original.holds(path))
                throw reader::Error(
                    fmt::format("the {} program imports {} of the original tree, by an editable install or "
                                "PYTHONPATH; have "
                                "Python look in the copy first: -- env PYTHONPATH=. python3 ...",
                                copy.name, path.string()));
}

/// As far as calls of what the copy built were recorded.
void refuse_sources(advice::Report& report, const TreeCopy& copy, const DiffFile& diff) {
    std::set<std::string> patched;
    for (const std::string& file : diff.files())
        patched.insert((copy.original.root() / file).lexically_normal().string());
    const std::string own = copy.root.string() + "/";
    for (const auto& [id, frame] : report.trace.dictionary.frames) {
        const auto module = report.trace.dictionary.modules.find(frame.module);
        if (module == report.trace.dictionary.modules.end() || !module->second.path.starts_with(own))
            continue;
        for (const symbols::CodePlace& place : report.symbolizer.places(ids::StackId(id)))
            if (patched.contains(fs::path(place.file.string()).lexically_normal().string()))
                throw reader::Error(fmt::format("the {} program was not built from its copy: {} was compiled "
                                                "from {}; have --build build it "
                                                "in the copy, by relative paths",
                                                copy.name, fs::path(module->second.path).filename().string(),
                                                place.file.string()));
    }
}

} // namespace

void refuse_foreign_code(advice::Report& report, const TreeCopy& copy, const DiffFile& diff) {
    refuse_libraries(report.trace.dictionary, copy);
    refuse_python(report.trace.dictionary, copy);
    refuse_sources(report, copy, diff);
}

} // namespace umadvisor::cli
