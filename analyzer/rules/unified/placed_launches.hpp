/// How long launches take while a small managed allocation that they reach is on the device, and while it stays
/// on the host for them.
#pragma once

#include "analyzer/tables/allocations.hpp"

#include <cstdint>
#include <map>
#include <unordered_map>
#include <vector>

namespace umadvisor::rules {

/// What looks after waits tell of launches. Where looks are left out since they show the same, the launches in
/// between are like those around them. Memory: the live allocations that are small, and of each line a few
/// groups of launches.
class PlacedLaunches {
public:
    static constexpr std::uint64_t most_bytes = 64 * 1024; ///< of an allocation: less than this is a place

    struct Launched {
        std::uint64_t count = 0;
        std::vector<std::uint64_t> samples; ///< of those whose device time is measured; at most a few
    };
    struct Group {
        std::uint64_t stack = 0; ///< of a launch
        Launched near, far;      ///< with the memory on the device, and on the host
    };
    using Groups = std::map<tables::LaunchGroup, Group>;

    void add(const trace::Alloc& record);
    void add(const trace::Free& record) { live_.erase(record.allocation); }
    void add(const trace::Residency& record);
    void launch(const trace::Launch& record, const reader::Shape& shape) {
        if (record.status == 0 && !live_.empty())
            reach_all(record, shape);
    }
    /// Device time of a sampled launch.
    void measure(std::uint64_t sample, std::uint64_t nanoseconds);

    const std::map<ids::AllocationSite, Groups>& sites() const { return sites_; }
    /// Device times of those that were read, in nanoseconds.
    std::vector<double> times(const Launched& launched) const;

private:
    static constexpr std::size_t most_groups = 64, most_samples = 32, most_pending = 256,
                                 most_measured = 16'384;

    enum class Place : std::uint8_t { unknown, device, host };
    struct Pending {
        tables::LaunchGroup group;
        std::uint64_t stack = 0, sample = 0;
    };
    struct Live {
        Groups* groups = nullptr;
        Place last = Place::unknown;  ///< after the last wait with a look
        std::vector<Pending> pending; ///< launches since
        bool lost = false;            ///< more of them than are kept
    };
    void reach_all(const trace::Launch& record, const reader::Shape& shape);
    void settle(Live& live, Place place);

    std::map<ids::AllocationSite, Groups> sites_;
    std::unordered_map<std::uint64_t, Live> live_;
    std::unordered_map<std::uint64_t, std::uint64_t> measured_; ///< nanoseconds by sample; 0: not read
};

} // namespace umadvisor::rules
