/// Launches a thread has made, by everything their shape follows from, so that one that comes again costs no
/// look-up of what it reaches.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>

namespace umadvisor::record {

/// The words a launch's shape is a function of, hashed as they come. Left uninitialised beyond `count`: it
/// stands on the stack of every launch.
struct LaunchKey {
    static constexpr std::size_t capacity = 64;
    std::uint64_t words[capacity];
    std::uint32_t count = 0;
    std::uint64_t hash = 0;

    LaunchKey() noexcept {} // not defaulted: value-initialisation would fill `words`

    bool room(std::size_t more) const noexcept { return more <= capacity - count; }

    /// The caller has asked for room.
    void add(std::uint64_t word) noexcept {
        // A sum of products: no word waits for the one before it. Equal hashes are told apart by the words.
        hash += word * multipliers[count];
        words[count++] = word;
    }

private:
    static constexpr std::array<std::uint64_t, capacity> multipliers = [] {
        std::array<std::uint64_t, capacity> odd{};
        std::uint64_t state = 0x9e3779b97f4a7c15u;
        for (std::uint64_t& multiplier : odd)
            multiplier = (state = state * 0xd1342543de82ef95u + 1) | 1;
        return odd;
    }();
};

/// One entry for each hash, the newest. All zeros: empty. Belongs to one thread.
struct LaunchMemo {
    static constexpr int bits = 9;
    struct Entry {
        std::uint64_t hash;
        std::uint32_t count;
        std::uint32_t shape;  ///< its number in the chunk; 0: empty
        std::uint64_t serial; ///< of that number's definition
        std::uint64_t words[LaunchKey::capacity];
    };
    Entry entries[std::size_t{1} << bits];

    /// Null when `key` is not remembered.
    const Entry* find(const LaunchKey& key) const noexcept {
        const Entry& entry = entries[place(key)];
        if (entry.hash != key.hash || entry.count != key.count || entry.shape == 0)
            return nullptr;
        std::uint64_t different = 0;
        for (std::uint32_t i = 0; i < key.count; ++i)
            different |= entry.words[i] ^ key.words[i];
        return different == 0 ? &entry : nullptr;
    }

    void remember(const LaunchKey& key, std::uint64_t shape, std::uint64_t serial) noexcept {
        Entry& entry = entries[place(key)];
        entry.hash = key.hash;
        entry.count = key.count;
        entry.shape = static_cast<std::uint32_t>(shape);
        entry.serial = serial;
        std::memcpy(entry.words, key.words, key.count * sizeof *key.words);
    }

private:
    static std::size_t place(const LaunchKey& key) noexcept {
        return (key.hash ^ key.hash >> 32) * 0x9e3779b97f4a7c15u >> (64 - bits);
    }
};

} // namespace umadvisor::record
