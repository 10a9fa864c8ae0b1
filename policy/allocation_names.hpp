/// Names of managed allocations that are the same in each run.
#pragma once

#include <cstdint>

namespace umadvisor::policy {

/// An allocation is known by its call site, its size and the how-many-th such it is among those that live. Not
/// thread-safe: its owner's lock covers it. What there is no room for stays without a name.
class AllocationNames {
public:
    struct Named {
        std::uint64_t name = 0; ///< 0: it has none
        std::uint64_t bytes = 0;
        std::uint64_t stack = 0; ///< of the call
    };

    constexpr AllocationNames() noexcept = default;

    /// `key` is that of the call's stack.
    void add(std::uint64_t allocation, std::uint64_t bytes, std::uint64_t stack, std::uint64_t key) noexcept;
    void remove(std::uint64_t allocation) noexcept;
    Named find(std::uint64_t allocation) const noexcept;

private:
    static constexpr std::uint64_t slots = 4096, most_alike = 64;
    struct Slot {
        std::uint64_t allocation; ///< 0: free
        Named named;
    };

    Slot by_name_[slots] = {};
    std::uint16_t by_allocation_[slots] = {}; ///< where in by_name_, plus 1
};

} // namespace umadvisor::policy
