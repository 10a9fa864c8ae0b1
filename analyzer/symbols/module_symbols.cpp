#include "analyzer/symbols/module_symbols.hpp"

#include "analyzer/symbols/demangle.hpp"

#include <cstdlib>
#include <cstring>
#include <dwarf.h>
#include <elfutils/libdw.h>
#include <elfutils/libdwelf.h>
#include <elfutils/libdwfl.h>
#include <utility>

namespace umadvisor::symbols {
namespace {

const Dwfl_Callbacks callbacks{dwfl_build_id_find_elf, dwfl_standard_find_debuginfo,
                               dwfl_offline_section_address, nullptr};

bool is_function(int tag) {
    return tag == DW_TAG_subprogram || tag == DW_TAG_inlined_subroutine;
}

std::string function_name(Dwarf_Die* die) {
    Dwarf_Attribute attribute;
    const char* mangled = dwarf_formstring(dwarf_attr_integrate(die, DW_AT_linkage_name, &attribute));
    if (mangled != nullptr)
        return short_name(mangled);
    const char* plain = dwarf_diename(die);
    return plain == nullptr ? std::string() : std::string(plain);
}

/// Where an inlined function was called, from its own entry.
void read_call_place(Dwarf_Die* inlined, Dwarf_Die* unit, CodePlace& place) {
    Dwarf_Attribute attribute;
    Dwarf_Word file = 0, line = 0;
    Dwarf_Files* files = nullptr;
    std::size_t count = 0;
    if (dwarf_formudata(dwarf_attr(inlined, DW_AT_call_file, &attribute), &file) != 0 ||
        dwarf_formudata(dwarf_attr(inlined, DW_AT_call_line, &attribute), &line) != 0 ||
        dwarf_getsrcfiles(unit, &files, &count) != 0 || file >= count)
        return;
    const char* path = dwarf_filesrc(files, file, nullptr, nullptr);
    if (path != nullptr) {
        place.file = path;
        place.line = static_cast<int>(line);
    }
}

/// The DIEs that physically contain `address`, the innermost first; the caller frees them.
int physical_scopes(Dwarf_Die* unit, Dwarf_Addr address, Dwarf_Die** scopes) {
    Dwarf_Die* lexical = nullptr;
    if (dwarf_getscopes(unit, address, &lexical) <= 0)
        return 0;
    // dwarf_getscopes goes on at the abstract origin of an inlined function, so callers would be missing;
    // asking again from the innermost DIE walks its parents.
    Dwarf_Die innermost = lexical[0];
    std::free(lexical);
    const int count = dwarf_getscopes_die(&innermost, scopes);
    return count < 0 ? 0 : count;
}

} // namespace

struct ModuleSymbols::Session {
    Dwfl* dwfl = nullptr;
    Dwfl_Module* module = nullptr;
    GElf_Addr bias = 0; ///< of libdwfl's address space over the file's

    ~Session() {
        if (dwfl != nullptr)
            dwfl_end(dwfl);
    }
};

ModuleSymbols::ModuleSymbols(std::string path, std::string_view build_id)
    : path_(std::move(path)), session_(std::make_unique<Session>()) {
    Session& s = *session_;
    s.dwfl = dwfl_begin(&callbacks);
    if (s.dwfl == nullptr) {
        trouble_ = dwfl_errmsg(-1);
        return;
    }
    s.module = dwfl_report_offline(s.dwfl, path_.c_str(), path_.c_str(), -1);
    dwfl_report_end(s.dwfl, nullptr, nullptr);
    Elf* elf = s.module == nullptr ? nullptr : dwfl_module_getelf(s.module, &s.bias);
    if (elf == nullptr) {
        trouble_ = path_ + ": " + dwfl_errmsg(-1);
        return;
    }
    const void* bytes = nullptr;
    const ssize_t size = dwelf_elf_gnu_build_id(elf, &bytes);
    if (!build_id.empty() && (size != static_cast<ssize_t>(build_id.size()) ||
                              std::memcmp(bytes, build_id.data(), build_id.size()) != 0))
        trouble_ = path_ + ": is not the file that ran (its build id differs); lines in it are not shown";
}

ModuleSymbols::~ModuleSymbols() = default;

std::vector<CodePlace> ModuleSymbols::places(std::uint64_t address) const {
    CodePlace place;
    place.module = path_;
    place.offset = address;
    if (!trouble_.empty())
        return {place};

    const Session& s = *session_;
    const GElf_Addr at = address + s.bias;
    int line = 0;
    if (Dwfl_Line* found = dwfl_module_getsrc(s.module, at))
        if (const char* file = dwfl_lineinfo(found, nullptr, &line, nullptr, nullptr, nullptr)) {
            place.file = file;
            place.line = line;
        }

    std::vector<CodePlace> result;
    Dwarf_Addr unit_bias = 0;
    Dwarf_Die* unit = dwfl_module_addrdie(s.module, at, &unit_bias);
    Dwarf_Die* scopes = nullptr;
    const int count = unit == nullptr ? 0 : physical_scopes(unit, at - unit_bias, &scopes);
    for (int i = 0; i < count; ++i) {
        const int tag = dwarf_tag(&scopes[i]);
        if (!is_function(tag))
            continue;
        place.function = function_name(&scopes[i]);
        place.inlined = tag == DW_TAG_inlined_subroutine;
        result.push_back(place);
        if (!place.inlined)
            break;
        place.file.clear();
        place.line = 0;
        read_call_place(&scopes[i], unit, place);
    }
    std::free(scopes);
    if (!result.empty() && !result.back().inlined)
        return result;

    GElf_Off distance = 0;
    GElf_Sym symbol;
    const char* name = dwfl_module_addrinfo(s.module, at, &distance, &symbol, nullptr, nullptr, nullptr);
    place.function = name == nullptr ? std::string() : short_name(name);
    place.inlined = false;
    result.push_back(place);
    return result;
}

} // namespace umadvisor::symbols
