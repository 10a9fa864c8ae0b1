/// Hashes of the program's host memory, which is read safely (host_read.hpp).
#pragma once

#include "trace/copy_records.hpp"

#include <array>
#include <cstddef>
#include <cstdint>

namespace umadvisor::observe {

/// Hashes host memory. Not thread-safe; 64 KiB of its own, since a thread's stack may be small.
class HostBytes {
public:
    /// Up to so many bytes all are hashed.
    static constexpr std::uint64_t small = 4096;

    /// Fills in `part_hash`, of 256 bytes each at the begin, at the end and at two offsets between, and the
    /// value that these repeat, if they do. Fills in nothing if they cannot be read.
    void hash_part(trace::CopyContent& content, std::uint64_t address, std::uint64_t bytes) noexcept;

    /// Hashes of a few places of 64 bytes, one in each of as many equal parts of the bytes.
    static constexpr std::size_t places = 4;
    using Places = std::array<std::uint32_t, places>;

    /// Hashes the places of this turn, and with `next` those of the next. Each turn has others. False if they
    /// cannot be read. `bytes`: more than `small`.
    bool hash_places(std::uint64_t address, std::uint64_t bytes, std::uint32_t turn, Places& hashes,
                     Places* next) noexcept;

    /// Where the parts repeat one value: looks at `value_places` more places of 64 bytes, one in each of as
    /// many equal parts of the bytes. Fills in `places` if all of them repeat it, and takes the value away if
    /// one does not. Does nothing if they cannot be read. `bytes`: more than `small`.
    static constexpr std::uint64_t value_places = 64;
    void check_value(trace::CopyContent& content, std::uint64_t address, std::uint64_t bytes) noexcept;

    /// Fills in `whole_hash` and the value that all bytes repeat, if they do. Fills in nothing if they cannot
    /// be read.
    void hash_whole(trace::CopyContent& content, std::uint64_t address, std::uint64_t bytes) noexcept;

private:
    static constexpr std::uint64_t piece = 64 * 1024;

    alignas(64) std::uint8_t held_[piece];
};

} // namespace umadvisor::observe
