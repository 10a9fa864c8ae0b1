/// The loaded objects of the process, as far as stacks run through them.
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

/// Fed by dl_iterate_phdr(3), whose counters of loads and unloads tell cheaply whether anything has changed.
/// Thread-safe.
class ModuleMap {
public:
    constexpr ModuleMap() noexcept = default;

    using GoneCall = void (*)(std::uintptr_t first, std::uintptr_t last) noexcept;

    /// Looks again if objects came or went since the last look, and defines the new ones. Calls `gone(first,
    /// last)` for each that is there no more. Whether anything had changed. Takes the loader's lock before its
    /// own: a callback of the program's dl_iterate_phdr(3) holds the one and may come here.
    bool refresh(GoneCall gone) noexcept;

    /// The module that holds `address`; false when none does. The path stays valid.
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
