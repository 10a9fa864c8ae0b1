/// What was looked up in an object file before, kept on disk.
#pragma once

#include "analyzer/symbols/cache_format.hpp"
#include "analyzer/symbols/options.hpp"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace umadvisor::symbols {

/// One file for each build-id and state of the files it was looked up in, so that debug information which is
/// installed later, or another --debug-dir, is not missed. Files that are damaged, of another version or not
/// the user's own are as good as none; so is a folder that cannot be written.
class SymbolCache {
public:
    /// Reads what there is. `path`, `build_id`: of the object; without a build-id or a folder nothing is kept.
    SymbolCache(std::string_view path, std::string_view build_id, const Options& options);

    /// nullptr: not known.
    const std::vector<CodePlace>* find(std::uint64_t address) const;
    void add(std::uint64_t address, const std::vector<CodePlace>& places);
    /// Writes a new file in place of the old one, if anything was added.
    void save() const noexcept;

private:
    void write() const;

    std::string folder_, file_; ///< empty: nothing is kept
    KnownPlaces places_;
    bool changed_ = false;
};

} // namespace umadvisor::symbols
