/// A Launch with only its shape and start, as nearly all are.
#pragma once

#include "trace/event_records.hpp"

#include <cstddef>
#include <cstdint>
#include <cstring>

namespace umadvisor::trace {

/// Its bytes, the LEB128 numbers filled up, so that it is always of one length and written by one store:
///
///     0      1          2, 3              4, 5, 6
///     type   length 5   shape, 14 bits    zig-zag difference to the last time, 21 bits
struct BriefLaunch {
    static constexpr std::size_t bytes = 7;
    static constexpr std::uint64_t shapes = 1u << 14; ///< greater numbers do not fit
    static constexpr std::uint64_t span = 1u << 20;   ///< nor do so many ticks after the last time

    /// The first four bytes: the same for all launches of a shape.
    static constexpr std::uint32_t head(std::uint64_t shape) noexcept {
        const auto number = static_cast<std::uint32_t>(shape);
        return static_cast<std::uint32_t>(Launch::type) | 5u << 8 | (number & 0x7f) << 16 | 0x80u << 16 |
               number >> 7 << 24;
    }
    static constexpr std::uint64_t shape(std::uint32_t head) noexcept {
        return (head >> 16 & 0x7f) | head >> 24 << 7;
    }

    /// Writes one byte more than it has. `later`: ticks since the last time in the chunk.
    [[gnu::always_inline]] static void put(std::uint8_t* out, std::uint32_t head,
                                           std::uint64_t later) noexcept {
        const std::uint64_t start =
            (later & 0x3f) << 1 | (later & 0x1fc0) << 2 | (later & 0xfe000) << 3 | 0x8080;
        const std::uint64_t all = head | start << 32;
        std::memcpy(out, &all, sizeof all);
    }
};

} // namespace umadvisor::trace
