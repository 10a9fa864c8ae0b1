/// Two ways to read an interpreter's memory.
#pragma once

#include "interposer/record/checked_read.hpp"

#include <cstddef>
#include <cstdint>
#include <cstring>

namespace umadvisor::record {

/// Plain reads, for memory that cannot be freed meanwhile.
struct DirectMemory {
    [[gnu::always_inline]] static bool copy(std::uintptr_t from, void* to, std::size_t bytes) noexcept {
        std::memcpy(to, reinterpret_cast<const void*>(from), bytes);
        return true;
    }
};

/// Reads through the kernel, which answers with an error for an unmapped address. Reads whole pages, each one
/// once, since a system call costs more than copying a page. Lives in zeroed pages.
class CheckedMemory {
public:
    /// Forgets what was read.
    void begin() noexcept { ++walk_; }

    bool copy(std::uintptr_t from, void* to, std::size_t bytes) noexcept {
        auto* out = static_cast<std::uint8_t*>(to);
        while (bytes != 0) {
            const std::uintptr_t offset = from % page_bytes;
            const std::size_t part = bytes < page_bytes - offset ? bytes : page_bytes - offset;
            const std::uint8_t* const page = look(from - offset);
            if (page == nullptr)
                return false;
            std::memcpy(out, page + offset, part);
            from += part;
            out += part;
            bytes -= part;
        }
        return true;
    }

private:
    static constexpr std::size_t page_bytes = 4096, slots = 64;

    const std::uint8_t* look(std::uintptr_t base) noexcept {
        const std::size_t slot = base / page_bytes % slots;
        if (walks_[slot] == walk_ && bases_[slot] == base)
            return pages_[slot];
        walks_[slot] = 0;
        if (!read_checked(pages_[slot], base, page_bytes))
            return nullptr;
        bases_[slot] = base;
        walks_[slot] = walk_;
        return pages_[slot];
    }

    std::uint64_t walk_, walks_[slots];
    std::uintptr_t bases_[slots];
    std::uint8_t pages_[slots][page_bytes];
};

} // namespace umadvisor::record
