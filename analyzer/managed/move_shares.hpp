/// Shares what moved between two readings of the driver's totals among the memory that can have moved.
#pragma once

#include "analyzer/managed/managed_site.hpp"

#include <cstdint>
#include <map>
#include <optional>

namespace umadvisor::managed::ledger {

inline constexpr std::uint64_t page_bytes = 4096, block_bytes = std::uint64_t{2} << 20;
inline constexpr std::size_t most_searched = 4096; ///< allocations, for memory that no call names

/// An allocation. Sizes are in bytes.
struct Memory {
    ManagedSiteActivity* site = nullptr;
    std::uint64_t address = 0;
    std::uint64_t first = 0, end = 0; ///< addresses, of the pages that hold it
    double pages = 0;                 ///< size of these
    double granule_rest = 0;          ///< what lies behind it in its last 64 KiB and is no other memory's
    double block_rest = 0;            ///< the same in its last 2 MiB
    double host = 0;                  ///< what the host has, at the most
    double before_look = 0;           ///< the same, before a look corrected it
    double to_host = 0;               ///< prefetches that the program has not waited for
    bool was_there = false;           ///< on a device
    bool reached = false;             ///< by a launch or prefetch that the program has not waited for
    bool looked = false;              ///< `host` is exact
};
using Memories = std::map<std::uint64_t, Memory>; ///< by number

/// What happened to memory in an interval.
struct Entry {
    MovedBytes recorded;
    std::uint64_t host_faults = 0, to_host = 0;
    std::optional<double> host_share; ///< by the first look
    bool used = false;                ///< by any processor
    bool reached = false, touched = false, waited = false, closed = false;
};

/// What moved one way.
struct Share {
    double all = 0;
    double guessed = 0; ///< of this, what may as well be memory of another line
};

/// What memory gets of an interval.
struct Part {
    Share to_device, to_host;
    std::optional<double> host_after; ///< as looked at
    Entry entry;
};
using Parts = std::map<std::uint64_t, Part>;

/// Adds up all that moved one way.
struct Sum {
    double all = 0, unassigned = 0;
    double guessed = 0;       ///< the least that is assigned to the wrong line, if the guesses are wrong
    double may_be_others = 0; ///< all that may as well be memory of another line
    double ahead = 0;         ///< recorded moves that no reading of the totals has yet
    bool closes() const;
};

/// An interval: who may have its bytes, and how many moved each way.
struct ToShare {
    Memories& memories;
    Parts& parts;
    MovedBytes moved;
    const ManagedSiteActivity* only =
        nullptr; ///< the line whose memory alone was used; nullptr: there are others
};
void share_to_host(const ToShare& interval, Sum& sum);
void share_to_device(const ToShare& interval, Sum& sum);

} // namespace umadvisor::managed::ledger
