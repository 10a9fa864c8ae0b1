/// Device memory that is copied to the host and from there to a device again, with no time to look at it: to
/// another place, or back to where it came from. And the same bytes from one Python framework to another.
#pragma once

#include "analyzer/facts/per_thread.hpp"
#include "analyzer/facts/samples.hpp"
#include "analyzer/ids/call_site.hpp"
#include "analyzer/reader/thread_cursor.hpp"
#include "analyzer/rules/counter.hpp"
#include "analyzer/rules/device_contents.hpp"

#include <array>
#include <compare>
#include <cstdint>
#include <map>
#include <set>
#include <unordered_map>
#include <utility>

namespace umadvisor::rules {

/// Both copies, and the devices from which and to which they lead.
struct ThroughHostSite {
    ids::CallSite down, up;
    std::uint64_t from = 0, to = 0;
    auto operator<=>(const ThroughHostSite&) const = default;
};

/// One way of these copies.
struct ThroughHostWay {
    bool waits = true; ///< all calls held the host until it was done
    bool pageable = false;
    std::uint64_t least_ticks = UINT64_MAX, least_bytes = 0; ///< of the call that had the highest rate
    std::uint64_t measured_bytes = 0, measured_ns = 0;       ///< of those whose device time was sampled
};

struct ThroughHostTotals {
    std::uint64_t pairs = 0, bytes = 0;
    std::uint64_t changed = 0;   ///< others, of which the host changed some bytes in between
    std::uint64_t exchanged = 0; ///< pairs that are half of an exchange: the other half leads the other way
    ThroughHostWay down, up;
};

/// Follows the latest downloads of each thread, of a bounded number of them. Memory: one entry a
/// pair of call sites.
class ThroughHost : public Counter {
public:
    ThroughHost(const Begin& begin, Counters& counters)
        : ns_per_tick_(begin.ns_per_tick),
          host_time_known_(!begin.dictionary.is_simulated()),
          dictionary_(begin.dictionary),
          contents_(counters.get<DeviceContents>(begin)),
          live_(begin.live),
          samples_(begin.samples) {}

    void add(const trace::Copy& record, std::uint32_t thread);
    void add(const trace::Sync& record, std::uint32_t thread);
    void add(const trace::Content& record, std::uint32_t thread);
    void add(const trace::Peer& record);
    void add(const trace::Pause&) {
        threads_.clear();
        threads_known_ = 0;
    }

    const std::map<ThroughHostSite, ThroughHostTotals>& sites() const { return sites_; }
    /// Those that lead back to where they came from, with hardly time to look at any of the bytes.
    const std::map<ThroughHostSite, ThroughHostTotals>& back() const { return back_; }
    /// Those by which one Python framework gives another what it had on the device, seen by the hash of the
    /// bytes, also where the host copies them to another address in between.
    const std::map<ThroughHostSite, ThroughHostTotals>& handed_over() const { return handed_over_; }
    /// Whether most copies of this call go through the host for nothing.
    bool tells_of(const ids::CallSite& site) const;
    /// Whether the program has let `device` reach the memory of `peer`.
    bool peers(std::uint64_t device, std::uint64_t peer) const { return peers_.contains({device, peer}); }

private:
    struct Download {
        trace::Copy copy;
        std::uint64_t seen_from = 0;              ///< when the host had waited for it; 0: not yet
        std::uint64_t busy = 0;                   ///< of the thread by then
        std::uint64_t replaced_from = 0;          ///< the device has these bytes in its place now
        ThroughHostTotals* replaced_by = nullptr; ///< which came this way
    };
    struct Thread {
        std::array<Download, 16> latest{};
        std::size_t next = 0;
        bool unseen = false;    ///< one of them may be
        std::uint64_t busy = 0; ///< ticks in calls that copy, and in looks at what they copied
        /// Downloads since the latest upload before them: the end of the first, `busy` then, and all their
        /// bytes.
        std::uint64_t given_from = 0, given_busy = 0, given_bytes = 0;
        bool sends = false; ///< uploads have followed
    };
    struct Calls {
        std::uint64_t copies = 0, paired = 0;
    };
    Thread& of(std::uint32_t thread);
    void count(const trace::Copy& copy, std::uint32_t on);
    bool pass_on(Thread& thread, const trace::Copy& copy);
    void hand_over(Thread& thread, const trace::Copy& copy);
    bool unseen(const Thread& thread, const Download& download, const trace::Copy& up) const;
    bool barely_seen(const Thread& thread, const trace::Copy& up) const;
    void add(ThroughHostWay& way, const trace::Copy& copy);

    double ns_per_tick_;
    bool host_time_known_; ///< the clock of a simulated driver does not go on while the host looks
    const reader::Dictionary& dictionary_;
    const DeviceContents& contents_; ///< before the record at hand
    const facts::LiveMemory& live_;
    facts::Samples& samples_;
    facts::PerThread<Thread> threads_;
    std::size_t threads_known_ = 0;
    facts::CachedMap<std::unordered_map<ids::CallSite, Calls>> calls_;
    std::map<ThroughHostSite, ThroughHostTotals> sites_, back_, handed_over_;
    std::set<std::pair<std::uint64_t, std::uint64_t>> peers_;
};

/// The time of `bytes` one way: the device's time where it was sampled, else that of the quickest call if calls
/// wait (the others waited for kernels, too), else at the rate of pinned memory.
double way_ns(const Profile& profile, const ThroughHostWay& way, double bytes);

} // namespace umadvisor::rules
