/// Maps that are asked for the same keys again and again.
#pragma once

#include <array>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <memory>

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
        Entry*& latest = (*latest_)[slot_of(key) % slots];
        if (latest == nullptr || latest->first != key)
            latest = &*map_.try_emplace(key).first;
        return *latest;
    }
    typename Map::mapped_type& operator[](const Key& key) { return entry(key).second; }

    const Map& map() const { return map_; }

private:
    static constexpr std::size_t slots = 4096;

    static std::uint64_t slot_of(const Key& key) {
        if constexpr (std::integral<Key>)
            return key;
        else
            return key.stack * 1021 + key.entry;
    }

    Map map_;
    std::unique_ptr<std::array<Entry*, slots>> latest_ = std::make_unique<std::array<Entry*, slots>>();
};

} // namespace umadvisor::model
