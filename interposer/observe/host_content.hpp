/// The content of managed memory that the host has.
#pragma once

#include "interposer/observe/allocations.hpp"
#include "interposer/observe/mapped_runs.hpp"
#include "trace/values.hpp"

#include <cstdint>
#include <sys/uio.h>

namespace umadvisor::observe {

/// Reads at most four of the mapped pages, or all if one fault would bring them. Reads through the kernel,
/// which answers with an error instead of a signal for a page that may not be read. The buffer is a member,
/// since a launching thread's stack may be small. Not thread-safe.
class HostContent {
public:
    struct Seen {
        std::uint64_t hash = 0;      ///< 0: it cannot be read
        std::uint64_t lone_line = 0; ///< FORMAT.md, Residency
    };
    /// `closely`: all pages if they are few, compared with the last content of the same pages.
    Seen look(const MappedRuns& runs, const Allocation& allocation, bool closely) noexcept;

    /// Regular if every page that was read is.
    trace::Regularity regularity(const MappedRuns& runs, const Allocation& allocation) noexcept;

private:
    static constexpr std::uint64_t most_pages = 16; ///< a fault's granule
    static constexpr std::uint64_t line = 64;
    static constexpr std::uint64_t page_lines = recorded_page / line;
    static constexpr std::uint64_t spread_pages = 4;

    /// Hashes of an allocation's last content, line by line.
    struct LineHashes {
        std::uint64_t allocation, first, last;
        std::uint32_t lines[most_pages * page_lines];
    };

    static std::uint64_t spread(const MappedRuns& runs, const Allocation& allocation, iovec* parts) noexcept;
    bool read(const iovec* parts, std::uint64_t count, std::uint64_t bytes) noexcept;
    std::uint64_t compare(const iovec& whole, const Allocation& allocation) noexcept;

    std::uint8_t held_[most_pages * recorded_page] = {};
    LineHashes last_[8] = {}; ///< by the allocation's number
};

} // namespace umadvisor::observe
