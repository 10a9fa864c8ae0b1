/// An allocator for objects of all sizes, of which a program may have thousands: a mapping for each would use
/// up what the kernel allows a process (vm.max_map_count).
#pragma once

#include "interposer/base/pages.hpp"

#include <algorithm>
#include <bit>
#include <cstddef>
#include <new>

namespace umadvisor::base {

/// Blocks of powers of two; one that was given back is used for the next of its size. Not thread-safe: the
/// owner's lock covers it.
class Blocks {
public:
    constexpr Blocks() noexcept = default;

    /// A block that is not zeroed, aligned to a cache line; nullptr without memory.
    void* take(std::size_t bytes) noexcept {
        const int size = size_of(bytes);
        if (size > largest)
            return map_pages(bytes);
        Free*& first = free_[size - smallest];
        if (first == nullptr)
            return arena_.take(std::size_t{1} << size, 64);
        Free* const block = first;
        first = block->next;
        return block;
    }

    /// Gives back a block that take() returned for as many bytes.
    void give(void* block, std::size_t bytes) noexcept {
        const int size = size_of(bytes);
        if (size > largest)
            return unmap_pages(block, bytes);
        Free*& first = free_[size - smallest];
        first = new (block) Free{first};
    }

private:
    struct Free {
        Free* next;
    };
    static constexpr int smallest = 9, largest = 16; ///< 512 bytes, 64 KiB
    static int size_of(std::size_t bytes) noexcept {
        return std::max(smallest, static_cast<int>(std::bit_width(bytes - 1)));
    }

    Free* free_[largest - smallest + 1] = {};
    Arena arena_;
};

} // namespace umadvisor::base
