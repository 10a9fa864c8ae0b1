/// Which functions, inlined ones included, hold an address, by the debug information.
#pragma once

#include <cstdint>
#include <elfutils/libdwfl.h>
#include <unordered_map>
#include <vector>

namespace umadvisor::symbols {

/// Keeps an index of the functions of each unit that was asked about: libdw walks the unit anew each time.
class DwarfScopes {
public:
    explicit DwarfScopes(Dwfl_Module* module) : module_(module) {}

    /// The unit that holds an address of libdwfl's address space. `bias` of that space over the unit's own.
    /// nullptr: none does.
    Dwarf_Die* unit_of(GElf_Addr address, GElf_Addr& bias);

    /// Functions of `unit` that hold `address` (the unit's own), the innermost inlined one first, the one they
    /// were compiled into last; empty where none is known.
    std::vector<Dwarf_Die> functions(Dwarf_Die* unit, Dwarf_Addr address);

private:
    struct Range {
        Dwarf_Addr first, end;
        Dwarf_Die die;
    };
    struct Unit {
        std::vector<Range> functions; ///< sorted
        bool whole = false;           ///< of all of its DIEs, not only where functions usually stand
    };
    static void collect(Dwarf_Die* parent, bool whole, std::vector<Range>& out, int depth);
    static void add_ranges(Dwarf_Die* die, std::vector<Range>& out);
    static void sort(std::vector<Range>& ranges);
    static const Range* find(const std::vector<Range>& ranges, Dwarf_Addr address);

    Dwfl_Module* module_;
    std::unordered_map<const void*, Unit> units_; ///< by where their first DIE lies
    std::vector<Range> all_units_;                ///< made when .debug_aranges does not know an address
    bool all_units_made_ = false;
    Dwarf_Die found_unit_{};
};

} // namespace umadvisor::symbols
