/// Launches, added up by kernel and shape, with the device's time as far as it is known.
#pragma once

#include "analyzer/facts/call_time.hpp"
#include "analyzer/facts/per_thread.hpp"
#include "analyzer/facts/samples.hpp"
#include "analyzer/reader/flat_map.hpp"
#include "analyzer/reader/thread_cursor.hpp"
#include "analyzer/tables/settled_totals.hpp"

#include <compare>
#include <cstdint>
#include <map>
#include <vector>

namespace umadvisor::tables {

/// How a device time is known, from the best to the worst.
enum class Basis : std::uint8_t {
    measured,     ///< every launch lay between a pair of events
    extrapolated, ///< some did; the others of the same kernel and shape are assumed to be alike
    inferred,     ///< none did; from how long synchronisations waited
    unknown,
};
std::string_view name(Basis basis);

/// Launches of one kernel with one grid, block and shared memory.
struct LaunchGroup {
    std::uint64_t function = 0;
    std::uint64_t grid[3] = {}, block[3] = {}, shared_bytes = 0;
    bool outside = false; ///< of the ranges that are looked at
    auto operator<=>(const LaunchGroup&) const = default;
};

struct LaunchTotals final : SettledTotals {
    std::uint64_t count = 0, failed = 0;
    facts::CallTime call_time;
    std::uint64_t replayed = 0;                                  ///< of `count`, as nodes of graphs
    std::uint64_t measured = 0, measured_ns = 0, longest_ns = 0; ///< device time minus the event floor
    double waited_ticks = 0; ///< share of the synchronisations after launches that were not sampled
    /// Device time of all launches but the replayed ones, by the clock: no longer than the waits behind them
    /// allow.
    double settled_ns = 0;
    const LaunchTotals* outside = nullptr; ///< the same launches outside the ranges that are looked at

    void settle(const facts::Call&, double device_ns, double) override { settled_ns += device_ns; }
    void measure(std::uint64_t nanoseconds);
    /// Mean of the measured launches without the longest, which often paid for faults or code loading.
    double usual_ns() const;
};

struct DeviceTimeEstimate {
    double ns = 0;
    Basis basis = Basis::unknown;
};

/// Memory: one entry a kernel and shape, one for each thread that launched them, and one a sample that was not
/// yet read.
class Launches {
public:
    using Groups = std::map<LaunchGroup, LaunchTotals>;
    using Group = Groups::value_type;

    /// `samples` must outlive it.
    explicit Launches(facts::Samples& samples) : samples_(samples) {}

    /// Launches of `thread` in this place are of `shape` from now on.
    void define(std::uint32_t thread, const reader::Shape& shape);
    /// `shape`: the latest that was defined in its place. Returns what it was added to, which stays where it
    /// is; nullptr where the launch's shape is lost.
    Group* add(std::uint32_t thread, const trace::Launch& launch, const reader::Shape* shape);
    /// Kernels that a graph ran.
    void add_replayed(const LaunchGroup& group, std::uint64_t count);
    /// A graph was launched: what a synchronisation waits for is partly its work.
    void graph_launched(std::uint32_t thread);
    void synchronized(std::uint32_t thread, std::uint64_t ticks);

    const Groups& groups() const { return groups_; }
    /// nullptr: no such group.
    const LaunchTotals* find(const LaunchGroup& group) const;
    DeviceTimeEstimate estimate(const LaunchTotals& totals, double ns_per_tick) const;
    std::uint64_t count() const { return count_; }
    std::uint64_t without_shape() const { return without_shape_; }
    /// Call once, after the last launch and before groups(), find() and estimate() are asked.
    void finish();
    /// Time in the launch calls of a group, in ticks.
    double call_ticks(const LaunchTotals& totals) const { return totals.call_time.total_ticks(call_time_); }

    static LaunchGroup group_of(const reader::Shape& shape);

private:
    /// What a thread has ever launched of a group. Every launch updates it, so its fields are adjacent.
    struct Launched {
        Group* group = nullptr;
        std::uint64_t outstanding = 0; ///< launches since the thread's last synchronisation
        std::uint64_t count = 0, failed = 0;
        facts::CallTime call_time;
    };
    static constexpr std::uint32_t unresolved = UINT32_MAX; ///< not launched since it was defined
    struct Thread {
        std::vector<std::uint32_t> shapes; ///< by place, numbers in `launched`
        std::vector<Launched> launched;
        reader::FlatMap<std::uint32_t> numbers; ///< in `launched`, by the address of the group
        std::vector<std::uint32_t> waited_for;  ///< numbers of those with outstanding launches
    };
    static std::uint32_t number_of(Thread& thread, Group& group);
    static void await(Thread& thread, std::uint32_t number) {
        if (thread.launched[number].outstanding++ == 0)
            thread.waited_for.push_back(number);
    }
    std::uint32_t resolve(Thread& thread, const reader::Shape& shape);

    facts::Samples& samples_;
    Groups groups_;
    facts::PerThread<Thread> threads_;
    Group graphs_;              ///< takes the graphs' share of waiting
    facts::CallTime call_time_; ///< of all groups
    std::uint64_t count_ = 0, without_shape_ = 0;
};

} // namespace umadvisor::tables
