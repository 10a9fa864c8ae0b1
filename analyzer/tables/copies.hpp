/// Copies, added up by where they were called and what they moved.
#pragma once

#include "analyzer/facts/cached_map.hpp"
#include "analyzer/facts/direction.hpp"
#include "analyzer/facts/footprint.hpp"
#include "analyzer/facts/samples.hpp"
#include "analyzer/ids/call_site.hpp"
#include "analyzer/reader/dictionary.hpp"
#include "analyzer/tables/settled_totals.hpp"

#include <compare>
#include <cstdint>
#include <map>

namespace umadvisor::tables {

struct Tally {
    std::uint64_t count = 0, bytes = 0, ticks = 0;
    /// The part of `ticks` without the calls' waits for work that was queued before them.
    double own_ns = 0;
    void add(std::uint64_t more_bytes, std::uint64_t more_ticks) {
        ++count;
        bytes += more_bytes;
        ticks += more_ticks;
    }
    void add(const Tally& other) {
        count += other.count;
        bytes += other.bytes;
        ticks += other.ticks;
        own_ns += other.own_ns;
    }
    Tally without(const Tally& part) const {
        return {count - part.count, bytes - part.bytes, ticks - part.ticks, own_ns - own_ns_of(part)};
    }
    /// The share that `part`, some of these copies, has in their own time.
    double own_ns_of(const Tally& part) const {
        return ticks == 0 ? 0 : own_ns * static_cast<double>(part.ticks) / static_cast<double>(ticks);
    }
};

/// Below this a copy is priced by its call, not by its bytes.
inline constexpr std::uint64_t small_copy_bytes = 64 * 1024;
/// From this size on a copy shows the rate of the link.
inline constexpr std::uint64_t link_copy_bytes = 16 * 1024 * 1024;

struct CopySite : ids::CallSite {
    std::uint64_t host_range = 0;
    trace::Memory source{}, destination{};
    bool asynchronous = false, batched = false;
    bool graph = false; ///< nodes of graphs: `entry` and `stack` are of the graph's launch
    auto operator<=>(const CopySite&) const = default;
};

/// What pinned copies of at least link_copy_bytes reached in this trace.
struct LinkRate {
    std::uint64_t bytes = 0;
    double seconds = 0;
    double bytes_per_second() const { return seconds > 0 ? static_cast<double>(bytes) / seconds : 0; }
};

struct CopyTotals final : SettledTotals {
    facts::Direction direction{};
    Tally small, large; ///< below small_copy_bytes, and the others; ticks of the calls
    Tally from_disk;    ///< of the large ones, those that read pages of a file from the disk; no `own_ns`
    facts::Footprint pageable; ///< of the large ones: the pageable memory that they are copied from or to
    std::uint64_t calls = 0;   ///< fewer than copies where they were batched
    std::uint64_t largest = 0;
    std::uint64_t measured = 0, measured_bytes = 0, measured_ns = 0; ///< device time of sampled copies
    LinkRate* link = nullptr; ///< of the link that synchronous copies of a size show

    void settle(const facts::Call& call, double device_ns, double own_ns) override;
};

/// Adds copies of the program up; failed ones and umadvisor's own are counted apart. Memory: one entry a site.
class Copies {
public:
    /// Both must outlive it.
    Copies(const reader::Dictionary& dictionary, facts::Samples& samples)
        : dictionary_(dictionary), samples_(samples) {}

    /// Where the copy was added up. nullptr: it failed, or it is umadvisor's.
    CopyTotals* add(const trace::Copy& copy);
    /// Copies that a graph made: `copy` stands for each of `count`. Their calls took no time.
    void add_replayed(const trace::Copy& copy, std::uint64_t count);

    const std::map<CopySite, CopyTotals>& sites() const { return sites_.map(); }
    LinkRate link(facts::Direction direction) const;
    /// How many copies the call site made, those of graphs left out.
    std::uint64_t calls_of(const ids::CallSite& site) const;
    std::uint64_t failed() const { return failed_; }
    /// Copies between host and device of small_copy_bytes and more whose bytes the recorder did not look at.
    std::uint64_t uncompared() const { return uncompared_; }
    const Tally& own() const { return own_; } ///< made by umadvisor itself
    /// Copies of the program that umadvisor staged (--act stage): HtoD or DtoH.
    Tally staged(facts::Direction direction) const;

private:
    const reader::Dictionary& dictionary_;
    facts::Samples& samples_;
    facts::CachedMap<std::map<CopySite, CopyTotals>> sites_;
    std::map<facts::Direction, LinkRate> links_;
    std::uint64_t failed_ = 0, uncompared_ = 0;
    Tally own_;
    std::map<facts::Direction, Tally> staged_;
};

} // namespace umadvisor::tables
