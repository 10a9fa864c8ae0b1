/// Maps that are asked for the same keys again and again.
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace umadvisor::model {

/// A std::map or std::unordered_map with a cache of look-ups in front, since the calls of a program's loops
/// come from few places. A key is a number, or has a `stack` and an `entry`, which tell most keys apart.
/// Entries stay where they are.
template <class Map>
class CachedMap {
public:
    using Key = typename Map::key_type;
    using Entry = typename Map::value_type;

    /// Made if it is not there.
    Entry& entry(const Key& key) {
        Entry* const latest = latest_[slot_of(key)];
        return latest != nullptr && latest->first == key ? *latest : search(key);
    }
    typename Map::mapped_type& operator[](const Key& key) { return entry(key).second; }

    const Map& map() const { return map_; }

private:
    static constexpr int least_bits = 4;
    static constexpr std::size_t slots_an_entry = 8; ///< at least: few keys share a slot and its neighbour

    std::size_t slot_of(const Key& key) const {
        std::uint64_t number;
        if constexpr (std::integral<Key>)
            number = key;
        else
            number = key.stack * 1021 + key.entry;
        return static_cast<std::size_t>(number * 0x9e3779b97f4a7c15 >> shift_);
    }
    [[gnu::noinline]] Entry& search(const Key& key) {
        Entry* const neighbour = latest_[slot_of(key) ^ 1];
        if (neighbour != nullptr && neighbour->first == key)
            return *neighbour;
        Entry& found = *map_.try_emplace(key).first;
        if (slots_an_entry * map_.size() > latest_.size()) {
            latest_.assign(2 * latest_.size(), nullptr);
            --shift_;
        }
        const std::size_t slot = slot_of(key);
        latest_[slot ^ 1] = std::exchange(latest_[slot], &found);
        return found;
    }

    Map map_;
    std::vector<Entry*> latest_ = std::vector<Entry*>(1 << least_bits); ///< a power of two
    int shift_ = 64 - least_bits; ///< leaves of a number as many bits as there are slots for
};

} // namespace umadvisor::model
