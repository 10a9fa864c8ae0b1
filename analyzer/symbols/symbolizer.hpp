/// Stacks of a trace as places in the source.
#pragma once

#include "analyzer/symbols/code_place.hpp"
#include "analyzer/symbols/merged_stack.hpp"
#include "analyzer/symbols/options.hpp"
#include "analyzer/symbols/ownership.hpp"
#include "analyzer/symbols/packed_symbols.hpp"
#include "analyzer/symbols/python_framework.hpp"
#include "analyzer/symbols/source_call.hpp"
#include "analyzer/symbols/source_files.hpp"
#include "analyzer/symbols/symbol_cache.hpp"

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <tuple>
#include <unordered_map>
#include <utility>
#include <vector>

namespace umadvisor::reader {
class Dictionary;
}
namespace umadvisor::trace {
struct Frame;
}

namespace umadvisor::symbols {

/// Looks frames up when they are asked for, never before: a large binary costs seconds. What was looked up is
/// in the cache when it ends. What the trace was packed with comes before files and cache, so that a packed
/// trace has the same symbols everywhere. `dictionary` must outlive it. Not thread-safe.
class Symbolizer {
public:
    explicit Symbolizer(const reader::Dictionary& dictionary, Options options = {}, PackedSymbols packed = {});
    ~Symbolizer();
    Symbolizer(const Symbolizer&) = delete;
    Symbolizer& operator=(const Symbolizer&) = delete;

    /// All places of a stack, innermost first, inlined functions included; empty for stack 0.
    std::vector<CodePlace> places(ids::StackId stack);
    /// The place to show first: the innermost of the program's own code, as LineChoice has it.
    CodePlace line(ids::StackId stack);
    /// The framework that line() called to reach the driver, the outermost where one calls another; none where
    /// it reached it otherwise. Nothing where the line is not Python's to change.
    std::optional<PythonFramework> python_framework(ids::StackId stack);
    /// Whose code a place is; the stub that launches a kernel of this trace is CUDA's.
    Owner owner(const CodePlace& place);
    /// The first stack asked about that has the same line() as this one.
    ids::StackId line_stack(ids::StackId stack);
    /// That line of the source, where the file may be shown; else empty.
    std::string source_text(const CodePlace& place);
    /// All of that file, under the same conditions. Valid until the next call.
    const std::string& source_file(const CodePlace& place) { return sources_.text(place.file); }
    /// The call of CUDA there, with the expressions of the program's own source; no call where the source may
    /// not be shown, is no C++, or is a library's. A packed trace has single lines of sources.
    SourceCall source_call(const CodePlace& place);
    /// Whether an expression of the source at `from` means the same at `at`.
    bool holds_at(std::string_view expression, const CodePlace& from, const CodePlace& at);

    /// What the trace is packed with, and all that can be found for the addresses in it: without those whose
    /// files are not to be had.
    PackedSymbols pack();

    /// Files that could not be used, one line each; grows as frames and sources are looked up.
    std::vector<std::string> warnings() const;
    /// Of them, why source lines that are there are not shown.
    std::vector<std::string> source_notes() const { return sources_.notes(); }

private:
    class Module;
    struct ChosenLine {
        CodePlace place;
        PythonFramework framework = PythonFramework::none; ///< of the frames from the driver to this one
    };
    const ChosenLine& chosen_line(ids::StackId stack);
    Module* module_of(std::uint64_t id);
    Module* find_module(std::uint64_t id);
    const std::vector<CodePlace>& frame_places(std::uint64_t frame);
    const std::vector<CodePlace>* look_up(const trace::Frame& frame);
    /// Each frame of either language, the innermost first.
    void walk(ids::StackId stack, const VisitFrame& visit);
    bool is_launch_stub(const CodePlace& place);
    const SharedText& module_path(const trace::Frame& frame);

    const reader::Dictionary& dictionary_;
    Options options_;
    PackedSymbols packed_;
    CacheFolder cache_folder_;
    Ownership ownership_;
    SourceFiles sources_;
    PythonLines python_lines_;
    std::map<std::string, std::unique_ptr<Module>> modules_;     ///< by path and build id
    std::unordered_map<std::uint64_t, Module*> numbered_;        ///< the same by number; nullptr: no file
    std::unordered_map<std::uint64_t, SharedText> module_paths_; ///< by number
    /// By frame; of packed_ or of places_, since many frames may be of one address.
    std::unordered_map<std::uint64_t, const std::vector<CodePlace>*> frames_;
    std::map<std::pair<std::uint64_t, std::uint64_t>, std::vector<CodePlace>>
        places_; ///< by module and address
    std::unordered_map<ids::StackId, ChosenLine> lines_;
    /// By module, file and line; without a file by module and address.
    std::map<std::tuple<SharedText, SharedText, std::uint64_t>, ids::StackId> line_stacks_;
    std::set<std::string> kernels_; ///< short names
    bool kernels_known_ = false;
    std::vector<std::string> warnings_;
    std::vector<std::string> missing_; ///< names of files that this machine does not have
    std::size_t looked_up_ = 0;        ///< frames, in files
};

} // namespace umadvisor::symbols
