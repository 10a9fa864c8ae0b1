/// Launches, added up by kernel and shape, with the device's time as far as it is known.
#pragma once

#include "analyzer/model/awaited.hpp"
#include "analyzer/model/call_time.hpp"
#include "analyzer/reader/flat_map.hpp"
#include "analyzer/reader/thread_cursor.hpp"

#include <array>
#include <compare>
#include <cstdint>
#include <map>
#include <vector>

namespace umadvisor::model {

/// How a device time is known, from the best to the worst.
enum class Basis : std::uint8_t {
    measured,     ///< every launch lay between a pair of events
    extrapolated, ///< some did; the others of the same kernel and shape are taken to be alike
    inferred,     ///< none did; from how long synchronisations waited
    unknown,
};
std::string_view name(Basis basis);

/// Launches of one kernel with one grid, block and shared memory.
struct LaunchGroup {
    std::uint64_t function = 0;
    std::uint64_t grid[3] = {}, block[3] = {}, shared_bytes = 0;
    auto operator<=>(const LaunchGroup&) const = default;
};

struct LaunchTotals {
    std::uint64_t count = 0, failed = 0;
    CallTime call_time;
    std::uint64_t replayed = 0;                                  ///< of `count`, as nodes of graphs
    std::uint64_t measured = 0, measured_ns = 0, longest_ns = 0; ///< device time, event floor taken off
    double waited_ticks = 0; ///< share of the synchronisations after launches that were not sampled
    struct Outstanding {
        std::uint32_t thread = 0;
        std::uint64_t count = 0; ///< launches since the thread's last synchronisation
    };
    std::vector<Outstanding> outstanding; ///< few threads launch the same

    /// Mean of the measured launches without the longest, which often paid for faults or code loading.
    double usual_ns() const;
};

struct DeviceTimeEstimate {
    double ns = 0;
    Basis basis = Basis::unknown;
};

/// Memory: one entry a kernel and shape, one a sample that was not yet read.
class Launches {
public:
    using Groups = std::map<LaunchGroup, LaunchTotals>;
    using Group = Groups::value_type;

    /// What it was added to, which stays where it is; nullptr where the launch's shape is lost.
    const Group* add(std::uint32_t thread, const trace::Launch& launch, const reader::Shape* shape);
    /// Kernels that a graph ran.
    void add_replayed(const LaunchGroup& group, std::uint64_t count);
    /// A graph was launched: what a synchronisation waits for is partly its work.
    void graph_launched(std::uint32_t thread) { await(thread, graphs_); }
    void synchronized(std::uint32_t thread, std::uint64_t ticks);
    /// The device's time of the launch that carried `sample`, event floor taken off. False when no launch did.
    bool measure(std::uint64_t sample, std::uint64_t nanoseconds);

    const Groups& groups() const { return groups_; }
    /// nullptr: no such group.
    const LaunchTotals* find(const LaunchGroup& group) const;
    DeviceTimeEstimate estimate(const LaunchTotals& totals, double ns_per_tick) const;
    std::uint64_t count() const { return count_; }
    std::uint64_t without_shape() const { return without_shape_; }
    /// Time in the launch calls of a group, in ticks.
    double call_ticks(const LaunchTotals& totals) const { return totals.call_time.total_ticks(call_time_); }

    static LaunchGroup group_of(const reader::Shape& shape);

private:
    Group& group_with(const reader::Shape& shape);
    void await(std::uint32_t thread, LaunchTotals& totals);

    Groups groups_;
    std::array<Group*, 256> recent_{}; ///< by the last digits of the shape's number
    Awaited<LaunchTotals*> awaited_;
    reader::FlatMap<std::vector<LaunchTotals*>> outstanding_; ///< by thread, each once
    LaunchTotals graphs_;                                     ///< takes the graphs' share of waiting
    CallTime call_time_;                                      ///< of all groups
    std::uint64_t count_ = 0, without_shape_ = 0;
};

} // namespace umadvisor::model
