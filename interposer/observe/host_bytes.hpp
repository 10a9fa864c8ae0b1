/// Host memory of the program, read without being able to harm it, and what its bytes come to.
#pragma once

#include "trace/copy_records.hpp"

#include <cstdint>

namespace umadvisor::observe {

/// Hashes host memory. Not thread-safe; 64 KiB of its own, since a thread's stack may be small.
class HostBytes {
public:
    /// Up to here a part is the whole.
    static constexpr std::uint64_t small = 4096;

    /// Fills in `part_hash`, of 256 bytes each from the begin, the end and two places between, and the value
    /// that these are; nothing where they cannot be read.
    void hash_part(trace::CopyContent& content, std::uint64_t address, std::uint64_t bytes) noexcept;

    /// Fills in `whole_hash` and the value that all bytes are; nothing where they cannot be read.
    void hash_whole(trace::CopyContent& content, std::uint64_t address, std::uint64_t bytes) noexcept;

private:
    static constexpr std::uint64_t piece = 64 * 1024;

    alignas(64) std::uint8_t held_[piece];
};

} // namespace umadvisor::observe
