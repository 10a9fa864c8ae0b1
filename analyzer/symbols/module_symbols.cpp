#include "analyzer/symbols/module_symbols.hpp"

#include "analyzer/reader/shown_name.hpp"
#include "analyzer/symbols/demangle.hpp"
#include "analyzer/symbols/dwarf_scopes.hpp"
#include "analyzer/symbols/module_file.hpp"
#include "analyzer/symbols/symbol_table.hpp"

#include <cerrno>
#include <cstring>
#include <dwarf.h>
#include <elfutils/libdw.h>
#include <elfutils/libdwelf.h>
#include <elfutils/libdwfl.h>
#include <optional>
#include <unistd.h>
#include <utility>

namespace umadvisor::symbols {
namespace {

std::string function_name(Dwarf_Die* die) {
    Dwarf_Attribute attribute;
    const char* mangled = dwarf_formstring(dwarf_attr_integrate(die, DW_AT_linkage_name, &attribute));
    if (mangled != nullptr)
        return short_name(mangled);
    const char* plain = dwarf_diename(die);
    return plain == nullptr ? std::string() : reader::shown_name(plain);
}

/// A source file as an absolute path, where the compiler said which folder it ran in.
std::string source_path(const char* file, Dwarf_Die* unit) {
    Dwarf_Attribute attribute;
    const char* folder =
        *file == '/' ? nullptr : dwarf_formstring(dwarf_attr(unit, DW_AT_comp_dir, &attribute));
    const auto part = [](const char* text) { return std::string(text, ::strnlen(text, longest_path)); };
    return folder == nullptr ? part(file) : (part(folder) + '/' + part(file)).substr(0, longest_path);
}

void read_line(Dwarf_Die* unit, Dwarf_Addr address, CodePlace& place) {
    Dwarf_Line* line = dwarf_getsrc_die(unit, address);
    const char* file = line == nullptr ? nullptr : dwarf_linesrc(line, nullptr, nullptr);
    int number = 0;
    if (file == nullptr || dwarf_lineno(line, &number) != 0)
        return;
    place.file = source_path(file, unit);
    place.line = number;
}

/// Where an inlined function was called, from its own entry.
void read_call_place(Dwarf_Die* inlined, Dwarf_Die* unit, CodePlace& place) {
    Dwarf_Attribute attribute;
    Dwarf_Word file = 0, line = 0;
    Dwarf_Files* files = nullptr;
    std::size_t count = 0;
    place.file = {};
    place.line = 0;
    if (dwarf_formudata(dwarf_attr(inlined, DW_AT_call_file, &attribute), &file) != 0 ||
        dwarf_formudata(dwarf_attr(inlined, DW_AT_call_line, &attribute), &line) != 0 ||
        dwarf_getsrcfiles(unit, &files, &count) != 0 || file >= count)
        return;
    const char* path = dwarf_filesrc(files, file, nullptr, nullptr);
    if (path != nullptr) {
        place.file = source_path(path, unit);
        place.line = static_cast<int>(line);
    }
}

bool has_build_id(Elf* elf, std::string_view build_id) {
    const void* bytes = nullptr;
    const ssize_t size = dwelf_elf_gnu_build_id(elf, &bytes);
    return size == static_cast<ssize_t>(build_id.size()) &&
           std::memcmp(bytes, build_id.data(), build_id.size()) == 0;
}

/// For dwfl_standard_find_debuginfo: an empty element is the folder of the file itself.
std::string debug_path(const Options& options) {
    std::string path;
    for (const std::string& folder : debug_folders(options))
        path += folder + ':';
    return path + ":.debug";
}

} // namespace

struct ModuleSymbols::Session {
    Dwfl_Callbacks callbacks{dwfl_build_id_find_elf, dwfl_standard_find_debuginfo, dwfl_offline_section_address,
                             nullptr};
    char* debug_path = nullptr;
    Dwfl* dwfl = nullptr;
    Dwfl_Module* module = nullptr;
    GElf_Addr bias = 0; ///< of libdwfl's address space over the file's
    std::optional<DwarfScopes> scopes;
    std::optional<SymbolTable> symbols; ///< read when first needed: debug information mostly has the names, too

    Session() = default;
    Session(const Session&) = delete;
    Session& operator=(const Session&) = delete;
    ~Session() {
        if (dwfl != nullptr)
            dwfl_end(dwfl);
    }
};

ModuleSymbols::ModuleSymbols(const std::string& path, std::string_view build_id, const Options& options)
    : debug_path_(debug_path(options)) {
    session_ = open(file_path(path, options), build_id);
    if (session_)
        return;
    const std::string why = std::exchange(trouble_, {});
    const bool is_missing = is_missing_;
    for (const std::string& other : build_id_paths(build_id, options))
        if (is_plain_file(other) && (session_ = open(other, build_id)))
            break;
    trouble_ = session_ ? std::string() : why;
    is_missing_ = !session_ && is_missing;
}

ModuleSymbols::~ModuleSymbols() = default;

std::unique_ptr<ModuleSymbols::Session> ModuleSymbols::open(const std::string& file,
                                                            std::string_view build_id) {
    auto session = std::make_unique<Session>();
    Session& s = *session;
    s.debug_path = debug_path_.data();
    s.callbacks.debuginfo_path = &s.debug_path;
    s.dwfl = dwfl_begin(&s.callbacks);
    if (s.dwfl == nullptr) {
        trouble_ = dwfl_errmsg(-1);
        return nullptr;
    }
    s.module = dwfl_report_offline(s.dwfl, file.c_str(), file.c_str(), -1);
    dwfl_report_end(s.dwfl, nullptr, nullptr);
    Elf* elf = s.module == nullptr ? nullptr : dwfl_module_getelf(s.module, &s.bias);
    if (elf == nullptr) {
        trouble_ = file + ": " + dwfl_errmsg(-1);
        is_missing_ = access(file.c_str(), F_OK) != 0 && errno == ENOENT;
        return nullptr;
    }
    if (!build_id.empty() && !has_build_id(elf, build_id)) {
        trouble_ = file + ": is not the file that ran (its build id differs); only its lines in umadvisor's "
                          "cache are shown";
        return nullptr;
    }
    s.scopes.emplace(s.module);
    return session;
}

std::vector<CodePlace> ModuleSymbols::places(std::uint64_t address) {
    CodePlace place;
    place.offset = address;
    if (!trouble_.empty())
        return {place};

    Session& s = *session_;
    const GElf_Addr at = address + s.bias;
    std::vector<CodePlace> result;
    DwarfScopes::Place found = s.scopes->find(at);
    if (found.unit != nullptr)
        read_line(found.unit, found.address, place);
    for (Dwarf_Die& function : found.functions) {
        place.function = function_name(&function);
        place.inlined = dwarf_tag(&function) == DW_TAG_inlined_subroutine;
        result.push_back(place);
        if (!place.inlined)
            return result;
        read_call_place(&function, found.unit, place);
    }
    if (!s.symbols)
        s.symbols.emplace(s.module);
    place.function = short_name(s.symbols->find(at));
    place.inlined = false;
    result.push_back(place);
    return result;
}

} // namespace umadvisor::symbols
