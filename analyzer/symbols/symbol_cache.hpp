/// What was looked up in an object file before, kept on disk.
#pragma once

#include "analyzer/symbols/cache_format.hpp"
#include "analyzer/symbols/options.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace umadvisor::symbols {

/// Which files the cache's folder holds.
class CacheFolder {
public:
    /// Empty: there is no cache. The folder is looked through when it is first asked.
    explicit CacheFolder(std::string path) : path_(std::move(path)) {}

    /// Paths of what was kept of a build-id, in whatever state its files were; the newest first.
    std::vector<std::string> files(std::string_view build_id);

private:
    std::string path_;
    bool listed_ = false;
    std::vector<std::string> names_; ///< sorted
};

/// One file for each build-id and state of the files it was looked up in, so that debug information which is
/// installed later, or another --debug-dir, is not missed. Files that are damaged, of another version or not
/// the user's own are as good as none; so is a folder that cannot be written.
class SymbolCache {
public:
    /// Reads what there is. `path`, `build_id`: of the object; without a build-id or a folder nothing is kept.
    SymbolCache(std::string_view path, std::string_view build_id, const Options& options);

    /// nullptr: not known.
    const std::vector<CodePlace>* find(std::uint64_t address) const;
    /// The same for an object that no longer exists: from what was kept of its build-id in any state. All of
    /// that describes the same code. Where it differs, the result with more lines had more debug information
    /// and counts; of equals, the newer one.
    const std::vector<CodePlace>* find_in_any_state(std::uint64_t address, CacheFolder& folder);
    void add(std::uint64_t address, const std::vector<CodePlace>& places);
    /// Writes a new file in place of the old one, if anything was added.
    void save() const noexcept;

private:
    void write() const;

    std::string folder_, file_; ///< empty: nothing is kept
    std::string build_id_;
    KnownPlaces places_;
    std::optional<KnownPlaces> of_any_state_; ///< read when first needed
    bool changed_ = false;
};

} // namespace umadvisor::symbols
