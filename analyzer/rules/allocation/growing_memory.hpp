/// Device memory that lines of Python code allocate and that is never freed, in the order of the run's
/// launches.
#pragma once

#include "analyzer/reader/dictionary.hpp"
#include "analyzer/reader/flat_map.hpp"
#include "trace/event_records.hpp"

#include <compare>
#include <cstdint>
#include <map>
#include <utility>
#include <vector>

namespace umadvisor::rules {

struct GrowthSite {
    std::uint64_t stack = 0, entry = 0, device = 0;
    auto operator<=>(const GrowthSite&) const = default;
};

/// One allocation that was not freed.
struct GrowthPiece {
    std::uint64_t launches = 0; ///< of the run before it
    std::uint64_t start = 0;    ///< ticks
    std::uint64_t bytes = 0;    ///< 0: it was freed
};

struct GrowthTotals {
    std::vector<GrowthPiece> pieces;
    std::uint64_t freed_bytes = 0;
    bool complete = true; ///< false: there were more pieces
};

/// A framework's allocator takes a segment from the driver when none of what it has fits: a line that makes it
/// do so round after round leaves more and more alive. Memory: one entry an allocation, up to `most_pieces` a
/// site.
class Growth {
public:
    static constexpr std::size_t most_pieces = 1 << 14, most_sites = 1 << 13;

    explicit Growth(const reader::Dictionary& dictionary) : dictionary_(dictionary) {}

    void add(const trace::Alloc& record);
    void add(const trace::Free& record);
    void launch() { ++launches_; }

    const std::map<GrowthSite, GrowthTotals>& sites() const { return sites_; }
    std::uint64_t launches() const { return launches_; }
    /// The most that was allocated at once on a device, by the driver's calls that name it.
    std::uint64_t peak_bytes(std::uint64_t device) const;

private:
    struct Place {
        GrowthTotals* totals = nullptr; ///< nullptr: not of Python code
        std::size_t piece = 0;
        std::uint64_t device = 0, bytes = 0;
    };
    struct Live {
        std::uint64_t bytes = 0, peak_bytes = 0;
    };

    const reader::Dictionary& dictionary_;
    std::uint64_t launches_ = 0;
    std::map<GrowthSite, GrowthTotals> sites_;
    reader::FlatMap<Place> places_; ///< by allocation
    std::map<std::uint64_t, Live> live_;
};

} // namespace umadvisor::rules
