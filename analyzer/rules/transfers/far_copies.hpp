/// Copies between devices and page-locked memory of the host, by whether that lies on the device's NUMA node.
#pragma once

#include "analyzer/facts/awaited.hpp"
#include "analyzer/ids/call_site.hpp"
#include "analyzer/reader/trace.hpp"
#include "analyzer/tables/copies.hpp"

#include <compare>
#include <cstdint>
#include <map>
#include <unordered_map>

namespace umadvisor::rules {

/// Below this a copy says little about the way that its bytes take.
inline constexpr std::uint64_t least_far_bytes = 1024 * 1024;

struct FarSite {
    tables::CopySite copy;
    std::uint64_t device_node = 0, host_node = 0;
    ids::CallSite allocation; ///< of the host's memory
    auto operator<=>(const FarSite&) const = default;
};

/// Copies whose time is known.
struct TimedCopies {
    std::uint64_t count = 0, bytes = 0, ns = 0;
};

struct FarTotals {
    facts::Direction direction{};
    std::uint64_t count = 0, bytes = 0;
    TimedCopies sampled;  ///< by the device
    TimedCopies quickest; ///< the one synchronous call with the highest rate: others waited for kernels, too

    /// What tells their rate; a count of 0: nothing does.
    const TimedCopies& timed() const { return sampled.count != 0 ? sampled : quickest; }
};

/// Copies of least_far_bytes and more whose host memory and device are both on nodes that are known, but for
/// those of managed memory, of narrow rows and inside graphs. Memory: one entry a live allocation, and one a
/// site that copies between nodes.
class FarCopies {
public:
    explicit FarCopies(const reader::Trace& trace);

    void add(const trace::Alloc& record);
    void add(const trace::Free& record) { places_.erase(record.allocation); }
    void add(const trace::Copy& copy);
    /// The device's time of the copy that carried `sample`.
    void measure(std::uint64_t sample, std::uint64_t nanoseconds);

    const std::map<FarSite, FarTotals>& sites() const { return sites_; }
    /// Copies of link_copy_bytes and more between a device and memory on its own node.
    FarTotals near(facts::Direction direction) const;

private:
    struct Place {
        std::uint64_t node = 0; ///< plus 1
        ids::CallSite allocation;
    };
    struct Sampled {
        FarTotals* totals;
        std::uint64_t bytes;
    };
    FarTotals* totals_of(const trace::Copy& copy, facts::Direction direction);

    const reader::Trace& trace_;
    std::unordered_map<std::uint64_t, std::uint64_t> nodes_; ///< by device, plus 1
    reader::FlatMap<Place> places_;                          ///< by allocation
    facts::Awaited<Sampled> awaited_;
    std::map<FarSite, FarTotals> sites_;
    std::map<facts::Direction, FarTotals> near_;
};

} // namespace umadvisor::rules
