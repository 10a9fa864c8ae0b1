#include "interposer/attach/bypass.hpp"

#include "interposer/attach/driver.hpp"
#include "interposer/attach/real.hpp"
#include "interposer/record/loaded_objects.hpp"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <link.h>
#include <string_view>

namespace umadvisor::attach {

extern "C" __attribute__((visibility("hidden"))) void* umadvisor_real_dlsym;

namespace {

/// What the loader reads of an object to bind it. The driver's and our own objects are left out by the caller.
class Bindings {
public:
    explicit Bindings(const dl_phdr_info& object) : object_(object) {
        for (int i = 0; i < object.dlpi_phnum; ++i)
            if (object.dlpi_phdr[i].p_type == PT_DYNAMIC)
                read(reinterpret_cast<const ElfW(Dyn)*>(object.dlpi_addr + object.dlpi_phdr[i].p_vaddr));
    }

    /// Calls `visit(symbol, address)` for what each symbol was bound to.
    template <class Visit>
    void each(Visit&& visit) const {
        if (symbols_ == nullptr || names_ == nullptr)
            return;
        walk(calls_, calls_bytes_ / sizeof(ElfW(Rela)), visit);
        // Relocations without a symbol come first, and are most of them.
        const std::size_t count = others_bytes_ / sizeof(ElfW(Rela));
        const std::size_t plain = std::min<std::size_t>(plain_, count);
        if (others_ != nullptr)
            walk(others_ + plain, count - plain, visit);
    }

private:
    void read(const ElfW(Dyn) * entry) {
        for (; entry->d_tag != DT_NULL; ++entry) {
            // glibc has made these absolute, except where it leaves an object's dynamic section alone.
            const ElfW(Addr) at = entry->d_un.d_ptr < object_.dlpi_addr ? entry->d_un.d_ptr + object_.dlpi_addr
                                                                        : entry->d_un.d_ptr;
            switch (entry->d_tag) {
            case DT_SYMTAB:
                symbols_ = reinterpret_cast<const ElfW(Sym)*>(at);
                break;
            case DT_STRTAB:
                names_ = reinterpret_cast<const char*>(at);
                break;
            case DT_JMPREL:
                calls_ = reinterpret_cast<const ElfW(Rela)*>(at);
                break;
            case DT_PLTRELSZ:
                calls_bytes_ = entry->d_un.d_val;
                break;
            case DT_RELA:
                others_ = reinterpret_cast<const ElfW(Rela)*>(at);
                break;
            case DT_RELASZ:
                others_bytes_ = entry->d_un.d_val;
                break;
            case DT_RELACOUNT:
                plain_ = entry->d_un.d_val;
                break;
            default:
                break;
            }
        }
    }

    template <class Visit>
    void walk(const ElfW(Rela) * at, std::size_t count, Visit&& visit) const {
        for (std::size_t i = 0; at != nullptr && i < count; ++i) {
            const std::size_t symbol = ELF64_R_SYM(at[i].r_info);
            const auto type = ELF64_R_TYPE(at[i].r_info);
            if (symbol == 0 || !(type == calls_type || type == data_type))
                continue;
            void* bound = nullptr;
            std::memcpy(&bound, reinterpret_cast<const void*>(object_.dlpi_addr + at[i].r_offset),
                        sizeof bound);
            visit(names_ + symbols_[symbol].st_name, bound);
        }
    }

#if defined(__x86_64__)
    static constexpr unsigned calls_type = R_X86_64_JUMP_SLOT, data_type = R_X86_64_GLOB_DAT;
#else
    static constexpr unsigned calls_type = R_AARCH64_JUMP_SLOT, data_type = R_AARCH64_GLOB_DAT;
#endif
    const dl_phdr_info& object_;
    const ElfW(Sym) * symbols_ = nullptr;
    const char* names_ = nullptr;
    const ElfW(Rela) * calls_ = nullptr;
    const ElfW(Rela) * others_ = nullptr;
    std::size_t calls_bytes_ = 0, others_bytes_ = 0, plain_ = 0;
};

/// Whether it knows the driver by name: many libraries look symbols up that have nothing to do with CUDA.
bool names_driver(const dl_phdr_info& object) {
    for (const std::string_view name : {"cuGetProcAddress", "libcuda.so"})
        for (int i = 0; i < object.dlpi_phnum; ++i) {
            const ElfW(Phdr)& segment = object.dlpi_phdr[i];
            if (segment.p_type == PT_LOAD && (segment.p_flags & (PF_R | PF_W)) == PF_R &&
                memmem(reinterpret_cast<const void*>(object.dlpi_addr + segment.p_vaddr), segment.p_filesz,
                       name.data(), name.size()) != nullptr)
                return true;
        }
    return false;
}

using Tell = void (*)(const char* symbol, const char* object);

int look_at(dl_phdr_info* object, std::size_t, void* tell) {
    if (record::holds(*object, reinterpret_cast<std::uintptr_t>(&look_at)) ||
        record::holds(*object, reinterpret_cast<std::uintptr_t>(real<Entry::cuInit>())))
        return 0;
    Bindings(*object).each([&](const char* symbol, void* bound) {
        const bool look_up = std::strcmp(symbol, "dlsym") == 0;
        if (look_up ? bound == umadvisor_real_dlsym && names_driver(*object)
                    : symbol[0] == 'c' && symbol[1] == 'u' && substitute(bound) != nullptr)
            (*static_cast<Tell*>(tell))(symbol, object->dlpi_name);
    });
    return 0;
}

} // namespace

void find_bypasses(Tell tell) noexcept {
    if (find_driver())
        dl_iterate_phdr(&look_at, &tell);
}

} // namespace umadvisor::attach
