/// Maps that are asked for the same keys again and again.
#pragma once

#include "analyzer/ids/call_site.hpp"

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <type_traits>
#include <vector>

namespace umadvisor::facts {

/// A std::map or std::unordered_map with a table of its entries in front, since the calls of a program's loops
/// come from few places. A key is a number, or derives from a CallSite, which is enough to distinguish most
/// keys; where they are not, the map is searched. Entries stay where they are.
template <class Map>
class CachedMap {
public:
    using Key = typename Map::key_type;
    using Entry = typename Map::value_type;

    /// The entry is made if it is not there.
    Entry& entry(const Key& key) {
        std::size_t slot = slot_of(key);
        for (int probe = 0; probe < most_probes && slots_[slot] != nullptr; ++probe, slot = after(slot))
            if (slots_[slot]->first == key)
                return *slots_[slot];
        return search(key);
    }
    typename Map::mapped_type& operator[](const Key& key) { return entry(key).second; }

    const Map& map() const { return map_; }

private:
    static constexpr int least_bits = 4;
    static constexpr std::size_t slots_an_entry = 2; ///< at least
    static constexpr int most_probes = 8; ///< an entry that is further from its slot is not in the table

    std::size_t slot_of(const Key& key) const {
        using Hashed = std::conditional_t<std::derived_from<Key, ids::CallSite>, ids::CallSite, Key>;
        return static_cast<std::size_t>(std::hash<Hashed>()(key) * 0x9e3779b97f4a7c15 >> shift_);
    }
    std::size_t after(std::size_t slot) const { return (slot + 1) & (slots_.size() - 1); }

    [[gnu::noinline]] Entry& search(const Key& key) {
        const auto [found, fresh] = map_.try_emplace(key);
        if (slots_an_entry * map_.size() > slots_.size())
            grow();
        else if (fresh)
            place(*found);
        return *found;
    }
    void place(Entry& entry) {
        std::size_t slot = slot_of(entry.first);
        for (int probe = 0; probe < most_probes; ++probe, slot = after(slot))
            if (slots_[slot] == nullptr) {
                slots_[slot] = &entry;
                return;
            }
    }
    void grow() {
        slots_.assign(2 * slots_.size(), nullptr);
        --shift_;
        for (Entry& entry : map_)
            place(entry);
    }

    Map map_;
    std::vector<Entry*> slots_ = std::vector<Entry*>(1 << least_bits); ///< a power of two
    int shift_ = 64 - least_bits; ///< leaves of a number as many bits as there are slots for
};

} // namespace umadvisor::facts
