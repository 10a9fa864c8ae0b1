/// The launch shapes that a chunk has defined, so that a launch in a loop costs its times only.
#pragma once

#include "trace/event_records.hpp"

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>

namespace umadvisor::record {

/// A shape as a row of words: what is hashed and compared. Made by the record's own field list, so no field is
/// missed.
struct FlatShape {
    // LaunchShape has fewer than 16 fields beside `touched`; its count is a word too.
    static constexpr std::size_t capacity = 16 + trace::max_touched;
    std::uint64_t words[capacity];
    std::uint32_t count = 0;

    explicit FlatShape(const trace::LaunchShape& shape) noexcept { trace::LaunchShape::fields(shape, *this); }

    void number(std::string_view, const std::uint64_t& value) noexcept { words[count++] = value; }
    void handle(std::string_view, const std::uint64_t& value) noexcept { words[count++] = value; }
    template <std::size_t N>
    void numbers(std::string_view, const trace::Numbers<N>& values) noexcept {
        words[count++] = values.count;
        for (const std::uint64_t value : values)
            words[count++] = value;
    }

    /// Two independent multiply chains: the words are few and the latency is all that counts.
    std::uint64_t hash() const noexcept {
        std::uint64_t a = 0x9e3779b97f4a7c15u, b = count;
        std::uint32_t i = 0;
        for (; i + 1 < count; i += 2) {
            a = (a ^ words[i]) * 0xff51afd7ed558ccdu;
            b = (b ^ words[i + 1]) * 0xc4ceb9fe1a85ec53u;
            a ^= a >> 32;
            b ^= b >> 32;
        }
        if (i < count)
            a = (a ^ words[i]) * 0xff51afd7ed558ccdu;
        a = (a ^ (b + (b << 31))) * 0xc4ceb9fe1a85ec53u;
        return a ^ (a >> 32);
    }
};

/// A set of four for each hash, the oldest replaced. All zeros: empty, once forget() has been called. Belongs
/// to one thread.
struct LaunchShapes {
    static constexpr std::size_t sets = 64, ways = 4;
    struct Known {
        std::uint64_t serial; ///< of this definition, counted over all chunks
        std::uint64_t hash;
        std::uint32_t count;
        std::uint64_t words[FlatShape::capacity];
    };
    Known known[sets][ways];
    std::uint8_t oldest[sets];
    std::uint64_t last_serial, first_serial; ///< the chunk's own: from first_serial on

    /// A new chunk knows no shape.
    void forget() noexcept { first_serial = last_serial + 1; }

    std::uint64_t serial(std::uint64_t number) const noexcept {
        return known[(number - 1) / ways][(number - 1) % ways].serial;
    }

    /// Whether `number` still stands for what was defined as `serial`.
    bool holds(std::uint64_t number, std::uint64_t serial_then) const noexcept {
        return serial_then >= first_serial && serial(number) == serial_then;
    }

    /// The number of `shape` in this chunk, `fresh` when the chunk has yet to define it. `shape.shape` is zero.
    std::uint64_t number(const FlatShape& shape, bool& fresh) noexcept {
        const std::uint64_t hash = shape.hash();
        const std::size_t set = hash % sets;
        std::size_t way = 0;
        while (way < ways && !equals(known[set][way], hash, shape))
            ++way;
        fresh = way == ways;
        if (fresh) {
            way = oldest[set]++ % ways;
            Known& entry = known[set][way];
            entry.serial = ++last_serial;
            entry.hash = hash;
            entry.count = shape.count;
            std::memcpy(entry.words, shape.words, shape.count * sizeof *shape.words);
        }
        return set * ways + way + 1;
    }

private:
    bool equals(const Known& entry, std::uint64_t hash, const FlatShape& shape) const noexcept {
        return entry.hash == hash && entry.serial >= first_serial && entry.count == shape.count &&
               std::memcmp(entry.words, shape.words, shape.count * sizeof *shape.words) == 0;
    }
};

} // namespace umadvisor::record
