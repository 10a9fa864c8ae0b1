/// Allocations: the live ones one by one, the freed ones added up by where they were made.
#pragma once

#include "analyzer/model/launches.hpp"
#include "analyzer/model/residence.hpp"

#include <compare>
#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <unordered_map>
#include <vector>

namespace umadvisor::model {

struct AllocationSite {
    std::uint64_t stack = 0, entry = 0, symbol = 0;
    trace::Memory memory{};
    trace::Origin origin{};
    auto operator<=>(const AllocationSite&) const = default;
};

/// A first touch by a sampled launch, so that its device time can be held against later launches.
struct TouchSample {
    std::uint64_t sample = 0, bytes = 0;
    LaunchGroup group;
};

/// What managed allocations of one site did in one way (ping-pong, or one touch).
struct ManagedHabit {
    std::uint64_t allocations = 0, bytes = 0; ///< of the allocations
    std::uint64_t to_device = 0, to_host = 0; ///< moves by faults
    std::uint64_t bytes_to_device = 0, bytes_to_host = 0;
    double least_coverage = 1;         ///< of an allocation by its samples
    std::set<std::uint64_t> functions; ///< that moved them; at most a few
    std::uint64_t launch_stack = 0, launch_entry = 0, sync_stack = 0;
    std::vector<TouchSample> samples; ///< at most a few

    void add(const ManagedHabit& other);
};

struct AllocationTotals {
    std::uint64_t count = 0, failed = 0, bytes = 0, ticks = 0, largest = 0;
    std::uint64_t live = 0, live_bytes = 0, peak_bytes = 0; ///< live at the end
    std::uint64_t observed = 0;                             ///< managed ones whose residency was sampled
    ManagedHabit bouncing, first_touch;
};

/// From how many moves to the device, with returns in between, an allocation is said to bounce.
inline constexpr std::uint64_t bounce_moves = 3;

class Allocations {
public:
    void add(const trace::Alloc& record);
    void remove(const trace::Free& record);
    void launch(const trace::Launch& record, const reader::Shape& shape);
    /// A kernel of a graph that was launched there may reach `allocation`.
    void reach(std::uint64_t allocation, const LaunchGroup& group, std::uint64_t stack, std::uint64_t entry,
               std::uint64_t sample = 0);
    void prefetch(const trace::Prefetch& record);
    void sample(const trace::Residency& record);
    /// A synchronisation of the program has ended.
    void synchronized(std::uint64_t stack);
    /// Device time of a sampled launch.
    void measure(std::uint64_t sample, std::uint64_t nanoseconds);
    /// Adds what is still live to the sites. Call once, at the end.
    void finish();

    const std::map<AllocationSite, AllocationTotals>& sites() const { return sites_; }
    /// Device time of the launch of a TouchSample; 0: never read.
    std::uint64_t touch_ns(std::uint64_t sample) const;

private:
    /// A managed allocation under observation.
    struct Managed {
        explicit Managed(std::uint64_t bytes) : residence(bytes) {}
        Residence residence;
        std::set<std::uint64_t> functions;              ///< launched on it since the last sample
        std::set<std::uint64_t> movers;                 ///< launched when it left the host
        std::uint64_t stack = 0, entry = 0, sample = 0; ///< of the first of them
        std::uint64_t moved_stack = 0, moved_entry = 0, sync_stack = 0;
        LaunchGroup group;
        TouchSample touch;
        bool launched = false; ///< since the last sample
        bool moved = false;    ///< has ever left the host by faults
    };
    struct Live {
        std::uint64_t address = 0, bytes = 0;
        AllocationTotals* site = nullptr;
        std::unique_ptr<Managed> managed;
    };
    void retire(Live& live);
    static void add_habit(ManagedHabit& habit, const Live& live, const Moves& moves);
    Managed* find_managed(std::uint64_t allocation);

    std::map<AllocationSite, AllocationTotals> sites_;
    std::unordered_map<std::uint64_t, Live> live_;
    std::unordered_map<std::uint64_t, std::uint64_t> touches_; ///< sample -> nanoseconds, 0 until read
    std::uint64_t syncs_ = 0, last_sync_stack_ = 0;
};

} // namespace umadvisor::model
