/// Stacks a thread has unwound, valid as long as the words they were read from are unchanged.
#pragma once

#include "interposer/record/unwinder.hpp"

#include <cstddef>
#include <cstdint>

namespace umadvisor::record {

/// Unwinding is a function of the innermost frame's place and of the stack words it reads: return addresses and
/// saved frame pointers. Where all of them hold what they held, the stack is the same. Return addresses alone
/// are not enough: below a frame of variable size (alloca) an old return address may still lie where it once
/// counted; which frame pointer was saved tells those apart.
///
/// Belongs to one thread. All zeros: empty. Only on x86-64, where the place of every return address is fixed by
/// the ABI; elsewhere it stays empty.
struct StackCache {
    static constexpr std::size_t sets = 64, ways = 8;
    static constexpr std::size_t max_slots = 96;
    static constexpr std::size_t group = 8; ///< slots compared without a branch; the last group is filled up
    static_assert(max_slots % group == 0);

    struct Entry {
        std::uintptr_t caller, frame; ///< return address and frame address of record::stack()
        std::uint64_t epoch;
        std::uint32_t id;
        std::uint16_t slots;       ///< 0: unwound before, not remembered yet
        std::uint8_t seen, wanted; ///< sightings since it was last given up; how many make it worth remembering
        std::uint32_t offset[max_slots]; ///< from `frame`, bytes
        std::uint64_t value[max_slots];
    };
    Entry entries[sets][ways];
    std::uint8_t victim[sets];
    std::uint64_t epoch;        ///< entries of others are void
    std::uintptr_t first, last; ///< the thread's stack; 0: not asked yet
    std::uint32_t hits;

    /// Number of the stack, or 0 when it has to be unwound.
    std::uint32_t find(std::uintptr_t caller, std::uintptr_t frame) noexcept;

    /// Tells what unwinding found: `addresses`, `caller` first, make the stack with the number `id`. To be
    /// called in a frame below `frame`.
    void learn(const Unwinder& unwinder, std::uintptr_t caller, std::uintptr_t frame, void* const* addresses,
               std::size_t count, std::uint32_t id) noexcept;

    /// Every entry becomes void; the pages go to another thread.
    void forget() noexcept {
        ++epoch;
        first = last = 0;
    }

private:
    static std::size_t set_of(std::uintptr_t caller, std::uintptr_t frame) noexcept {
        return ((caller >> 1) ^ (frame >> 4) ^ (frame >> 10)) % sets;
    }
    bool in_stack(std::uintptr_t address) noexcept;
    bool remember(Entry& entry, const Unwinder& unwinder, void* const* addresses, std::size_t count) noexcept;
};

/// Voids the entries of all threads, at their next look: objects were loaded or unloaded.
void void_stack_caches() noexcept;

} // namespace umadvisor::record
