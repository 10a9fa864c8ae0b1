/// Symbols and lines of one object file.
#pragma once

#include "analyzer/symbols/code_place.hpp"
#include "analyzer/symbols/options.hpp"

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace umadvisor::symbols {

/// Reads an ELF file and its separate debug file through libdw. Where the file at `path` is gone or another by
/// now, a file of the same build-id in the debug folders serves. Not thread-safe.
class ModuleSymbols {
public:
    /// `build_id`: raw bytes of the file that ran; empty: not checked.
    ModuleSymbols(const std::string& path, std::string_view build_id, const Options& options = {});
    ~ModuleSymbols();
    ModuleSymbols(const ModuleSymbols&) = delete;
    ModuleSymbols& operator=(const ModuleSymbols&) = delete;

    /// Why nothing can be looked up: missing, unreadable, changed since it ran. Empty: usable.
    const std::string& trouble() const { return trouble_; }
    bool is_missing() const { return is_missing_; } ///< the trouble is that there is no such file

    /// The places of one frame, the innermost inlined function first; at least one. `address`: virtual address
    /// in the file, inside the instruction that is meant.
    std::vector<CodePlace> places(std::uint64_t address);

private:
    struct Session;
    std::unique_ptr<Session> open(const std::string& file, std::string_view build_id);

    std::string trouble_;
    bool is_missing_ = false;
    std::string debug_path_; ///< as libdwfl wants it: outlives the session
    std::unique_ptr<Session> session_;
};

} // namespace umadvisor::symbols
