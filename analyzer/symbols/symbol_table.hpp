/// Functions of an ELF file by address.
#pragma once

#include <cstdint>
#include <elfutils/libdwfl.h>
#include <optional>
#include <string_view>
#include <vector>

namespace umadvisor::symbols {

/// libdwfl goes through all symbols for each question; a library has hundreds of thousands, a report asks
/// thousands of times. Names stay with the module.
class SymbolTable {
public:
    explicit SymbolTable(Dwfl_Module* module);

    /// Mangled name of the function at an address of libdwfl's address space; empty where there is none.
    std::string_view find(GElf_Addr address) const;

private:
    struct Symbol {
        GElf_Addr first, bytes;
        int rank; ///< of those at one address the highest is shown: global, weak, local
        const char* name;
    };
    std::vector<Symbol> symbols_;
};

} // namespace umadvisor::symbols
