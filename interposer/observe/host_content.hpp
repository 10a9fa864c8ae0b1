/// What the host's pages of managed memory hold.
#pragma once

#include "interposer/observe/allocations.hpp"
#include "interposer/observe/mapped_runs.hpp"
#include "trace/values.hpp"

#include <cstdint>
#include <sys/uio.h>

namespace umadvisor::observe {

/// Reads at most four pages of what was found mapped, or all where the driver brings no more for one fault:
/// through the kernel, which answers a page that may not be read with an error instead of a signal
/// (process_vm_readv(2)). Into a buffer of its own: a launching thread's stack may be small. Not thread-safe.
class HostContent {
public:
    struct Seen {
        std::uint64_t hash = 0;      ///< 0: it cannot be read
        std::uint64_t lone_line = 0; ///< FORMAT.md, Residency
    };
    /// `closely`: all of it where it is little, and held against what the same pages held last.
    Seen look(const MappedRuns& runs, const Allocation& allocation, bool closely) noexcept;

    /// Regular where every page read is.
    trace::Regularity regularity(const MappedRuns& runs, const Allocation& allocation) noexcept;

private:
    static constexpr std::uint64_t most_pages = 16; ///< a fault's granule
    static constexpr std::uint64_t line = 64;
    static constexpr std::uint64_t page_lines = recorded_page / line;
    static constexpr std::uint64_t spread_pages = 4;

    /// What came back of an allocation, line by line.
    struct Place {
        std::uint64_t allocation, first, last;
        std::uint32_t lines[most_pages * page_lines];
    };

    static std::uint64_t spread(const MappedRuns& runs, const Allocation& allocation, iovec* places) noexcept;
    bool read(const iovec* places, std::uint64_t count, std::uint64_t bytes) noexcept;
    std::uint64_t compare(const iovec& place, const Allocation& allocation) noexcept;

    std::uint8_t held_[most_pages * recorded_page] = {};
    Place places_[8] = {}; ///< by the allocation's number
};

} // namespace umadvisor::observe
