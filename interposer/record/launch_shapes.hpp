/// The launch shapes that a chunk has defined, so that a launch in a loop is recorded by its times alone.
#pragma once

#include "interposer/record/fingerprint.hpp"
#include "trace/event_records.hpp"

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace umadvisor::record {

/// A shape's fingerprint. It is made by the record's own field list, so that no field is missed; lists include
/// their count, so that no two shapes give the same sequence.
struct ShapeFingerprint {
    // LaunchShape has fewer than 16 fields that are not lists.
    static_assert(16 + trace::max_touched + trace::max_reached_ranges + 1 <= Fingerprint::capacity);
    Fingerprint words;

    explicit ShapeFingerprint(const trace::LaunchShape& shape) noexcept {
        trace::LaunchShape::fields(shape, *this);
    }

    void number(std::string_view, const std::uint64_t& value) noexcept { words.add(value); }
    void handle(std::string_view, const auto& value) noexcept { words.add(static_cast<std::uint64_t>(value)); }
    void numbers(std::string_view, const auto& values) noexcept {
        words.add(values.count);
        for (const auto value : values)
            words.add(static_cast<std::uint64_t>(value));
    }
};

/// Shapes are numbered in a chunk as they are defined, and a serial counts them over all chunks: `first` is the
/// chunk's first one. A set of four for each fingerprint, the oldest replaced; one that was replaced is defined
/// again. All zeros: empty. Belongs to one thread.
struct LaunchShapes {
    static constexpr std::size_t sets = 512, ways = 4;

    struct Known {
        Fingerprint::Value value;
        std::uint64_t serial; ///< counts from 1
    };
    Known known[sets][ways];
    std::uint8_t oldest[sets];

    /// The serial of `shape`, or `last` + 1 if the chunk has not defined it yet. `shape.shape` is zero.
    std::uint64_t serial(const trace::LaunchShape& shape, std::uint64_t first, std::uint64_t last) noexcept {
        const Fingerprint::Value value = ShapeFingerprint(shape).words.value();
        const std::size_t set = static_cast<std::size_t>((value.low ^ value.high) % sets);
        for (const Known& each : known[set])
            if (each.serial >= first && each.value == value)
                return each.serial;
        known[set][oldest[set]++ % ways] = {value, last + 1};
        return last + 1;
    }
};

} // namespace umadvisor::record
