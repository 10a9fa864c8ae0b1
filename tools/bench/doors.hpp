/// Each entry point of the driver by two ways: as a program gets it, which is umadvisor's wrapper where that is
/// preloaded, and the driver's own address, which no look-up that can be hooked has passed.
#pragma once

// With this, cuda.h declares every exported symbol under its own name instead of renaming the newest.
#define __CUDA_API_VERSION_INTERNAL
#include <cuda.h>
#include <cudaProfiler.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <dlfcn.h>
#include <link.h>

namespace bench {

[[noreturn]] inline void give_up(const char* what, int status = 0) {
    std::fprintf(stderr, "call_costs: %s: %d\n", what, status);
    std::exit(1);
}

inline void must(CUresult status, const char* what) {
    if (status != CUDA_SUCCESS)
        give_up(what, static_cast<int>(status));
}

inline void* driver_library() {
    static void* const library = dlopen("libcuda.so.1", RTLD_NOW);
    if (library == nullptr)
        give_up(dlerror());
    return library;
}

/// The driver's symbol table, read by hand: dlsym itself is hooked.
class SymbolTable {
public:
    SymbolTable() {
        link_map* map = nullptr;
        if (dlinfo(driver_library(), RTLD_DI_LINKMAP, &map) != 0)
            give_up("dlinfo");
        base_ = map->l_addr;
        for (const ElfW(Dyn)* entry = map->l_ld; entry->d_tag != DT_NULL; ++entry) {
            // The loader has relocated these already.
            if (entry->d_tag == DT_SYMTAB)
                symbols_ = reinterpret_cast<const ElfW(Sym)*>(entry->d_un.d_ptr);
            else if (entry->d_tag == DT_STRTAB)
                names_ = reinterpret_cast<const char*>(entry->d_un.d_ptr);
            else if (entry->d_tag == DT_GNU_HASH)
                count_ = count_by_gnu_hash(reinterpret_cast<const std::uint32_t*>(entry->d_un.d_ptr));
            else if (entry->d_tag == DT_HASH && count_ == 0)
                count_ = reinterpret_cast<const std::uint32_t*>(entry->d_un.d_ptr)[1];
        }
    }

    void* find(const char* name) const {
        for (std::uint32_t i = 1; i < count_; ++i)
            if (symbols_[i].st_shndx != SHN_UNDEF && std::strcmp(names_ + symbols_[i].st_name, name) == 0)
                return reinterpret_cast<void*>(base_ + symbols_[i].st_value);
        give_up(name);
    }

private:
    /// The table does not tell its length: one past the last symbol of the longest chain.
    static std::uint32_t count_by_gnu_hash(const std::uint32_t* table) {
        const std::uint32_t buckets = table[0], first = table[1], bloom = table[2];
        const std::uint32_t* const bucket = table + 4 + bloom * (sizeof(ElfW(Addr)) / 4);
        const std::uint32_t* const chain = bucket + buckets;
        std::uint32_t last = 0;
        for (std::uint32_t i = 0; i < buckets; ++i)
            last = bucket[i] > last ? bucket[i] : last;
        while (last >= first && (chain[last - first] & 1) == 0)
            ++last;
        return last + 1;
    }

    ElfW(Addr) base_ = 0;
    const ElfW(Sym) * symbols_ = nullptr;
    const char* names_ = nullptr;
    std::uint32_t count_ = 0;
};

/// One entry point by both ways.
template <class Function>
struct Door {
    Function real, hooked;

    explicit Door(const char* symbol) {
        static const SymbolTable table;
        real = reinterpret_cast<Function>(table.find(symbol));
        hooked = reinterpret_cast<Function>(dlsym(driver_library(), symbol));
    }
    Function operator[](bool by_the_hook) const { return by_the_hook ? hooked : real; }
};

/// The entry points that are measured, and those that measuring takes.
struct Doors {
#define DOOR(symbol)                                                                                           \
    Door<decltype(&::symbol)> symbol {                                                                         \
#symbol                                                                                                \
    }
    DOOR(cuLaunchKernel);
    DOOR(cuMemcpyHtoDAsync_v2);
    DOOR(cuMemAlloc_v2);
    DOOR(cuMemFree_v2);
    DOOR(cuMemAllocHost_v2);
    DOOR(cuEventCreate);
    DOOR(cuEventRecord);
    DOOR(cuGraphLaunch);
    DOOR(cuStreamCreate);
    DOOR(cuStreamSynchronize);
    DOOR(cuStreamBeginCapture_v2);
    DOOR(cuStreamEndCapture);
    DOOR(cuGraphInstantiateWithFlags);
    DOOR(cuCtxGetCurrent);
    DOOR(cuCtxSetCurrent);
    DOOR(cuProfilerStart);
    DOOR(cuProfilerStop);
#undef DOOR
};

} // namespace bench
