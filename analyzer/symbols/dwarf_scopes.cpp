#include "analyzer/symbols/dwarf_scopes.hpp"

#include <algorithm>
#include <dwarf.h>
#include <functional>

namespace umadvisor::symbols {
namespace {

// Damaged files may hold more than a compiler makes.
constexpr int deepest_scope = 64;             ///< nested scopes
constexpr std::size_t most_dies = 20'000'000; ///< looked at in one unit

/// False at the end; also where damage leads back, so that no walk goes round in a circle.
bool next_sibling(Dwarf_Die& die) {
    const void* const before = die.addr;
    return dwarf_siblingof(&die, &die) == 0 && std::greater{}(die.addr, const_cast<void*>(before));
}

/// The unit's DIEs; with -gsplit-dwarf they are in a file of their own.
Dwarf_Die contents_of(Dwarf_Die* unit) {
    Dwarf_Die split{};
    std::uint8_t type = 0;
    if (dwarf_cu_info(unit->cu, nullptr, &type, nullptr, &split, nullptr, nullptr, nullptr) == 0 &&
        type == DW_UT_skeleton && split.addr != nullptr)
        return split;
    return *unit;
}

bool is_container(int tag, bool whole) {
    switch (tag) {
    case DW_TAG_namespace:
    case DW_TAG_module:
        return true;
    case DW_TAG_subprogram: // local classes and their members
    case DW_TAG_lexical_block:
    case DW_TAG_class_type:
    case DW_TAG_structure_type:
    case DW_TAG_union_type:
    case DW_TAG_enumeration_type:
        return whole;
    default:
        return false;
    }
}

} // namespace

void DwarfScopes::add_ranges(Dwarf_Die* die, std::vector<Range>& out) {
    Dwarf_Addr base = 0, first = 0, end = 0;
    for (std::ptrdiff_t at = 0; (at = dwarf_ranges(die, at, &base, &first, &end)) > 0;)
        if (first < end)
            out.push_back({first, end, *die});
}

void DwarfScopes::sort(std::vector<Range>& ranges) {
    std::ranges::sort(ranges, {}, &Range::first);
}

const DwarfScopes::Range* DwarfScopes::find_range(const std::vector<Range>& ranges, Dwarf_Addr address) {
    const auto after = std::ranges::upper_bound(ranges, address, {}, &Range::first);
    if (after == ranges.begin() || address >= std::prev(after)->end)
        return nullptr;
    return &*std::prev(after);
}

void DwarfScopes::collect(Dwarf_Die* parent, bool whole, std::vector<Range>& out, int depth,
                          std::size_t& dies) {
    Dwarf_Die child;
    if (depth == deepest_scope || dwarf_child(parent, &child) != 0)
        return;
    do {
        if (++dies > most_dies)
            return;
        const int tag = dwarf_tag(&child);
        if (tag == DW_TAG_subprogram)
            add_ranges(&child, out);
        if (is_container(tag, whole))
            collect(&child, whole, out, depth + 1, dies);
    } while (next_sibling(child));
}

Dwarf_Die* DwarfScopes::indexed_unit(Dwarf_Addr address) {
    if (!all_units_made_) {
        all_units_made_ = true;
        GElf_Addr bias = 0;
        Dwarf* const dwarf = dwfl_module_getdwarf(module_, &bias);
        Dwarf_CU* cu = nullptr;
        Dwarf_Die die;
        while (dwarf != nullptr && dwarf_get_units(dwarf, cu, &cu, nullptr, nullptr, &die, nullptr) == 0)
            add_ranges(&die, all_units_);
        sort(all_units_);
    }
    const Range* range = find_range(all_units_, address);
    if (range == nullptr)
        return nullptr;
    found_unit_ = range->die;
    return &found_unit_;
}

const DwarfScopes::Ranges& DwarfScopes::ranges_of(Dwarf_Die* unit) {
    const auto [entry, fresh] = unit_ranges_.try_emplace(unit->addr);
    if (fresh) {
        add_ranges(unit, entry->second);
        sort(entry->second);
    }
    return entry->second;
}

const DwarfScopes::Ranges& DwarfScopes::inner_scopes(Dwarf_Die scope) {
    const auto [entry, fresh] = inner_scopes_.try_emplace(scope.addr);
    Dwarf_Die child;
    if (!fresh || dwarf_child(&scope, &child) != 0)
        return entry->second;
    do {
        const int tag = dwarf_tag(&child);
        if (tag == DW_TAG_inlined_subroutine || tag == DW_TAG_lexical_block)
            add_ranges(&child, entry->second);
    } while (next_sibling(child));
    sort(entry->second);
    return entry->second;
}

/// Goes down from a function to the innermost scope that holds the address.
void DwarfScopes::descend(Dwarf_Die scope, Dwarf_Addr address, std::vector<Dwarf_Die>& inlined) {
    for (int depth = 0; depth < deepest_scope; ++depth) {
        const Range* const inner = find_range(inner_scopes(scope), address);
        if (inner == nullptr)
            return;
        scope = inner->die;
        if (dwarf_tag(&scope) == DW_TAG_inlined_subroutine)
            inlined.push_back(scope);
    }
}

bool DwarfScopes::look_into(Dwarf_Die* unit, Place& place) {
    if (unit == nullptr)
        return false;
    place.functions = functions(unit, place.address);
    if (place.functions.empty() && find_range(ranges_of(unit), place.address) == nullptr)
        return false;
    place.unit = unit;
    return true;
}

DwarfScopes::Place DwarfScopes::find(GElf_Addr address) {
    GElf_Addr bias = 0;
    Place place;
    if (dwfl_module_getdwarf(module_, &bias) == nullptr)
        return place;
    place.address = address - bias;
    // libdwfl gives the last unit that begins before the address. Not every compiler writes .debug_aranges
    // (clang does not), which is all that libdw up to 0.190 looks at.
    if (!look_into(dwfl_module_addrdie(module_, address, &bias), place))
        look_into(indexed_unit(place.address), place);
    return place;
}

std::vector<Dwarf_Die> DwarfScopes::functions(Dwarf_Die* unit, Dwarf_Addr address) {
    Dwarf_Die contents = contents_of(unit);
    const auto [entry, fresh] = units_.try_emplace(contents.addr);
    Unit& known = entry->second;
    if (fresh) {
        std::size_t dies = 0;
        collect(&contents, false, known.functions, 0, dies);
        sort(known.functions);
    }
    const Range* function = find_range(known.functions, address);
    if (function == nullptr && !known.whole) {
        known.whole = true;
        known.functions.clear();
        std::size_t dies = 0;
        collect(&contents, true, known.functions, 0, dies);
        sort(known.functions);
        function = find_range(known.functions, address);
    }
    std::vector<Dwarf_Die> result;
    if (function == nullptr)
        return result;
    result.push_back(function->die);
    descend(function->die, address, result);
    std::ranges::reverse(result);
    return result;
}

} // namespace umadvisor::symbols
