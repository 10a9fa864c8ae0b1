#include "interposer/runtime/fork.hpp"

#include "interposer/base/pages.hpp"

#include <cstdint>
#include <cstring>
#include <iterator>
#include <link.h>
#include <unistd.h>
#include <utility>

namespace umadvisor::runtime {

namespace {

/// All the writable memory of this library is restored at once, and not each table, list and lock by a routine
/// of its own, so that a variable that is added later cannot be forgotten.
struct Part {
    char* at;
    std::size_t bytes;
    char* copy;
};
constinit Part parts[4]{};
constinit int count = 0;

void add(std::uintptr_t first, std::uintptr_t last) {
    if (first < last && count < static_cast<int>(std::size(parts)))
        parts[count++] = {reinterpret_cast<char*>(first), last - first, nullptr};
}

/// The object's writable segments, except what the loader has made read-only after relocation.
int find_parts(dl_phdr_info* object, std::size_t, void* first_object) {
    const bool is_program = std::exchange(*static_cast<bool*>(first_object), false);
    const auto here = reinterpret_cast<std::uintptr_t>(&parts);
    std::uintptr_t fixed_first = 0, fixed_last = 0;
    bool ours = false;
    for (int i = 0; i < object->dlpi_phnum; ++i) {
        const ElfW(Phdr)& segment = object->dlpi_phdr[i];
        const std::uintptr_t first = object->dlpi_addr + segment.p_vaddr, last = first + segment.p_memsz;
        if (segment.p_type == PT_LOAD)
            ours = ours || (first <= here && here < last);
        if (segment.p_type == PT_GNU_RELRO) {
            const auto page = static_cast<std::uintptr_t>(sysconf(_SC_PAGESIZE));
            fixed_first = first / page * page;
            fixed_last = last / page * page;
        }
    }
    if (!ours)
        return 0;
    if (is_program)
        return 1;
    for (int i = 0; i < object->dlpi_phnum; ++i) {
        const ElfW(Phdr)& segment = object->dlpi_phdr[i];
        const std::uintptr_t first = object->dlpi_addr + segment.p_vaddr, last = first + segment.p_memsz;
        if (segment.p_type != PT_LOAD || (segment.p_flags & PF_W) == 0)
            continue;
        if (fixed_first >= last || fixed_last <= first) {
            add(first, last);
        } else {
            add(first, fixed_first);
            add(fixed_last, last);
        }
    }
    return 1;
}

} // namespace

bool remember_variables() noexcept {
    bool first_object = true;
    if (count == 0)
        dl_iterate_phdr(&find_parts, &first_object);
    for (int i = 0; i < count; ++i)
        if (parts[i].copy == nullptr) {
            parts[i].copy = static_cast<char*>(base::map_pages(parts[i].bytes));
            if (parts[i].copy == nullptr) {
                count = 0;
                return false;
            }
        }
    for (int i = 0; i < count; ++i) // `parts` is among what is copied
        std::memcpy(parts[i].copy, parts[i].at, parts[i].bytes);
    return count != 0;
}

void restore_variables() noexcept {
    for (int i = 0; i < count; ++i)
        std::memcpy(parts[i].at, parts[i].copy, parts[i].bytes);
}

} // namespace umadvisor::runtime
