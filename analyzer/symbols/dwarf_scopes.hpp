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

    struct Place {
        Dwarf_Die* unit = nullptr; ///< nullptr: no unit holds the address
        Dwarf_Addr address = 0;    ///< in the unit's own address space
        /// That hold the address, the innermost inlined one first, the one they were compiled into last; empty
        /// in assembly.
        std::vector<Dwarf_Die> functions;
    };
    /// `address`: of libdwfl's address space.
    Place find(GElf_Addr address);

private:
    struct Range {
        Dwarf_Addr first, end;
        Dwarf_Die die;
    };
    struct Unit {
        std::vector<Range> functions; ///< sorted
        bool whole = false;           ///< of all of its DIEs, not only where functions usually stand
    };
    using Ranges = std::vector<Range>;
    bool look_into(Dwarf_Die* unit, Place& place);
    const Ranges& ranges_of(Dwarf_Die* unit);
    const Ranges& inner_scopes(Dwarf_Die scope);
    void descend(Dwarf_Die scope, Dwarf_Addr address, std::vector<Dwarf_Die>& inlined);
    std::vector<Dwarf_Die> functions(Dwarf_Die* unit, Dwarf_Addr address);
    Dwarf_Die* indexed_unit(Dwarf_Addr address);
    static void collect(Dwarf_Die* parent, bool whole, std::vector<Range>& out, int depth, std::size_t& dies);
    static void add_ranges(Dwarf_Die* die, std::vector<Range>& out);
    static void sort(std::vector<Range>& ranges);
    static const Range* find_range(const std::vector<Range>& ranges, Dwarf_Addr address);

    Dwfl_Module* module_;
    std::unordered_map<const void*, Unit> units_; ///< by where their first DIE lies
    /// By where their DIEs lie: addresses of units, and blocks and inlined functions in a scope; sorted.
    std::unordered_map<const void*, Ranges> unit_ranges_, inner_scopes_;
    std::vector<Range> all_units_; ///< made when .debug_aranges does not know an address
    bool all_units_made_ = false;
    Dwarf_Die found_unit_{};
};

} // namespace umadvisor::symbols
