#include "analyzer/symbols/symbol_table.hpp"

#include <algorithm>
#include <tuple>

namespace umadvisor::symbols {
namespace {

constexpr int farthest = 32; ///< symbols before an address that may still reach over it

bool is_code(const GElf_Sym& symbol) {
    const int type = GELF_ST_TYPE(symbol.st_info);
    return symbol.st_shndx != SHN_UNDEF && (type == STT_FUNC || type == STT_GNU_IFUNC || type == STT_NOTYPE);
}

int rank_of(const GElf_Sym& symbol) {
    const int binding = GELF_ST_BIND(symbol.st_info);
    return binding == STB_GLOBAL ? 2 : binding == STB_WEAK ? 1 : 0;
}

} // namespace

SymbolTable::SymbolTable(Dwfl_Module* module) {
    const int count = dwfl_module_getsymtab(module);
    for (int i = 1; i < count; ++i) {
        GElf_Sym symbol;
        GElf_Addr address = 0;
        const char* name = dwfl_module_getsym_info(module, i, &symbol, &address, nullptr, nullptr, nullptr);
        if (name != nullptr && *name != '\0' && is_code(symbol))
            symbols_.push_back({address, symbol.st_size, rank_of(symbol), name});
    }
    std::ranges::sort(symbols_, [](const Symbol& a, const Symbol& b) {
        return std::tuple(a.first, a.bytes != 0, a.rank) < std::tuple(b.first, b.bytes != 0, b.rank);
    });
}

std::string_view SymbolTable::find(GElf_Addr address) const {
    auto after = std::ranges::upper_bound(symbols_, address, {}, &Symbol::first);
    std::string_view nearest;
    for (int i = 0; i < farthest && after != symbols_.begin(); ++i) {
        --after;
        if (address - after->first < after->bytes)
            return after->name;
        if (i == 0 && after->bytes == 0) // assembly does not always state a function's size
            nearest = after->name;
    }
    return nearest;
}

} // namespace umadvisor::symbols
