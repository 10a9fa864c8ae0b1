/// Symbols and lines of one object file.
#pragma once

#include "analyzer/symbols/code_place.hpp"

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace umadvisor::symbols {

/// Reads an ELF file and its separate debug file, where one is installed, through libdw. Nothing is fetched
/// over the network. Not thread-safe.
class ModuleSymbols {
public:
    /// `build_id`: raw bytes of the file that ran; empty: not checked.
    ModuleSymbols(std::string path, std::string_view build_id);
    ~ModuleSymbols();
    ModuleSymbols(const ModuleSymbols&) = delete;
    ModuleSymbols& operator=(const ModuleSymbols&) = delete;

    /// Why nothing can be looked up: missing, unreadable, changed since it ran. Empty: usable.
    const std::string& trouble() const { return trouble_; }

    /// The places of one frame, the innermost inlined function first; at least one. `address`: virtual address
    /// in the file, inside the instruction that is meant.
    std::vector<CodePlace> places(std::uint64_t address) const;

private:
    struct Session;
    std::string path_, trouble_;
    std::unique_ptr<Session> session_;
};

} // namespace umadvisor::symbols
