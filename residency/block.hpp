#pragma once

#include "residency/geometry.hpp"
#include "residency/thrashing.hpp"

#include <array>

namespace umadvisor::residency {

/// State of the part of an allocation that lies in one 2 MiB block. Plain data: AddressSpace keeps the rules.
struct Block {
    std::uint64_t base = 0; ///< multiple of 2 MiB
    PageMask valid;         ///< pages that belong to the allocation
    std::array<PageMask, max_processors> resident;
    /// Pages a device reaches over the link while they stay on the host.
    std::array<PageMask, max_processors> remote;
    std::array<PageMask, max_processors> preferred;
    std::array<PageMask, max_processors> accessed_by;
    PageMask read_mostly;
    BlockThrashing thrashing;
    std::uint64_t last_use = 0; ///< order of device use: the lowest is evicted first

    PageMask resident_anywhere() const {
        PageMask any;
        for (const PageMask& mask : resident) {
            any |= mask;
        }
        return any;
    }
    /// Pages of the processor that others hold too.
    PageMask duplicates(Processor holder) const {
        PageMask elsewhere;
        for (Processor other = 0; other < max_processors; ++other) {
            elsewhere |= other == holder ? PageMask() : resident[other];
        }
        return elsewhere & resident[holder];
    }
    PageMask preferred_anywhere() const {
        PageMask any;
        for (const PageMask& mask : preferred) {
            any |= mask;
        }
        return any;
    }
};

} // namespace umadvisor::residency
