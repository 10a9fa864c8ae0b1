/// Asks the loader for the loaded objects.
///
/// dl_iterate_phdr(3) takes a lock that dlopen(3) and dlclose(3) take for a moment: a thread that runs a
/// constructor does not hold it, other than the one that dladdr(3) takes. A thread that runs a callback of the
/// program's own dl_iterate_phdr does, and may call CUDA from it: so no thread waits for the loader while it
/// holds a lock of ours. libunwind's is one that is held while it asks the loader (src/dwarf/Gparser.c,
/// find_reg_state), so it is called by threads that hold the loader's lock already.
#pragma once

#include "interposer/record/lock_check.hpp"

#include <cstdint>
#include <link.h>
#include <type_traits>

namespace umadvisor::record {

inline bool holds(const dl_phdr_info& object, std::uintptr_t address) noexcept {
    for (int i = 0; i < object.dlpi_phnum; ++i) {
        const ElfW(Phdr)& segment = object.dlpi_phdr[i];
        if (segment.p_type == PT_LOAD && address - object.dlpi_addr - segment.p_vaddr < segment.p_memsz)
            return true;
    }
    return false;
}

inline bool in_loaded_object(std::uintptr_t address) noexcept {
    assert_no_lock("dl_iterate_phdr");
    return dl_iterate_phdr(
               [](dl_phdr_info* object, std::size_t, void* at) {
                   return static_cast<int>(holds(*object, *static_cast<std::uintptr_t*>(at)));
               },
               &address) != 0;
}

/// Runs `work` while this thread holds the loader's lock, which is recursive.
template <class Work>
void holding_the_loader(Work&& work) noexcept {
    assert_no_lock("dl_iterate_phdr");
    dl_iterate_phdr(
        [](dl_phdr_info*, std::size_t, void* to) {
            (*static_cast<std::remove_reference_t<Work>*>(to))();
            return 1;
        },
        &work);
}

} // namespace umadvisor::record
