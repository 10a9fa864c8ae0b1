/// The loaded objects of the process, for the frames of stacks.
#pragma once

#include "interposer/base/pages.hpp"
#include "interposer/record/bounds.hpp"
#include "interposer/record/mutex.hpp"

#include <cstddef>
#include <cstdint>
#include <link.h>
#include <string_view>

namespace umadvisor::record {

struct LoadedModule {
    std::uint64_t id; ///< of its Module record
    std::uintptr_t bias, first, last;
    std::uint64_t identity; ///< hash of path and build id
    std::string_view path;
    bool present; ///< in the newest list
};

/// Reads dl_iterate_phdr(3), whose counters of loads and unloads show cheaply whether anything has changed.
/// Thread-safe.
class ModuleMap {
public:
    constexpr ModuleMap() noexcept = default;

    using GoneCall = void (*)(std::uintptr_t first, std::uintptr_t last) noexcept;

    /// Reads the list again if objects were loaded or unloaded since the last time, and defines the new ones.
    /// Calls `gone(first, last)` for each unloaded one. Returns whether anything had changed. Locks the loader
    /// before itself, since a callback of the program's dl_iterate_phdr(3) holds the loader's lock and may come
    /// here.
    bool refresh(GoneCall gone) noexcept;

    /// The module that holds `address`; false if none does. The path stays valid.
    bool find(std::uintptr_t address, LoadedModule& module) noexcept;

    /// Id of the module that holds `address`; 0: none.
    std::uint64_t id(std::uintptr_t address) noexcept {
        LoadedModule module;
        return find(address, module) ? module.id : 0;
    }

private:
    static constexpr std::size_t capacity = most(Bound::loaded_files); ///< at a time

    bool begin(const dl_phdr_info& any) noexcept;
    void see(const dl_phdr_info& object) noexcept;

    Mutex mutex_{Lock::modules};
    LoadedModule* modules_ = nullptr;
    std::size_t count_ = 0, last_hit_ = 0;
    std::uint64_t last_id_ = 0;
    unsigned long long adds_ = 0, subs_ = 0;
    base::Arena paths_;
    std::size_t paths_kept_ = 0;
};

extern constinit ModuleMap module_map;

} // namespace umadvisor::record
