/// What the calls of each call site took.
#pragma once

#include "analyzer/model/waits.hpp"
#include "analyzer/timeline/clock.hpp"

#include <cstdint>
#include <unordered_map>

namespace umadvisor::facts {

/// Nanoseconds. A call's duration is what it waited and what it took by itself.
struct SiteTime {
    std::uint64_t calls = 0;
    double own_ns = 0, waited_ns = 0;
    double device_ns = 0; ///< of the work that the calls queued
};

/// Memory: one entry a call site.
class SiteTimes {
public:
    void add(const timeline::Settled& settled) {
        SiteTime& time = times_[settled.call.site];
        ++time.calls;
        time.own_ns += settled.own_ns();
        time.waited_ns += settled.waited_ns;
        time.device_ns += settled.device_ns;
    }
    SiteTime of(const model::CallSite& site) const {
        const auto found = times_.find(site);
        return found == times_.end() ? SiteTime{} : found->second;
    }

private:
    std::unordered_map<model::CallSite, SiteTime, model::CallSiteHash> times_;
};

} // namespace umadvisor::facts
