/// Replays with edits, side by side.
#pragma once

#include "analyzer/facts/call.hpp"
#include "analyzer/timeline/edit.hpp"
#include "analyzer/timeline/state.hpp"

#include <cstddef>
#include <cstdint>
#include <unordered_map>
#include <vector>

namespace umadvisor::timeline {

/// A call in the window of the clock.
struct Pending {
    facts::Call call;
    double gap_ns = 0; ///< of the program's own code since the thread's last call
    double expected_ns = 0, doubt = 1;
    double weight = 1;         ///< how much of `expected_ns` the unknown factor scales, from 0 to 1
    double device_ns = 0;      ///< as fitted
    bool fixed = false;        ///< device_ns is final
    double begin = 0, end = 0; ///< of the work, as simulated last
    double told_ns = 0;        ///< from the call's start until the device knows of the work
    double own_ns = 0;         ///< that the call takes when what it waits for is done
    double wake_ns = 0;        ///< from the end of what it waited for to its return
    double waited_ns = 0;
    double late_ns = 0; ///< so much after it, what it waited for would have ended: that is taken back
};

/// One replay for each edit. A launch behind 1,022 others on its stream waits for the first of them (measured:
/// docs/measurements.md).
class Replays {
public:
    explicit Replays(const std::vector<Edit>& edits);

    bool empty() const { return lanes_.empty(); }
    void settle(const Pending& pending);
    /// `device_end`: when the device is done without any edit. A run ends when both host and device are done.
    std::vector<Gain> gains(double device_end) const;

private:
    static constexpr std::size_t queue_length = 1022, most_queues = 8;
    struct Host {
        double end = 0, recorded_end = 0;
        bool begun = false;
    };
    struct Queue {
        std::vector<double> ends;
        std::size_t next = 0;
    };
    struct Lane {
        double edited_ns = 0, added_ns = 0;
        State<double> state;
        std::vector<Host> hosts;
        std::vector<Queue> queues;             ///< by stream, of the first streams
        double latest_recorded = 0, shift = 0; ///< of the thread that was heard of last

        /// When a launch returns at the earliest, for want of room in the queue of its stream.
        double room(const facts::Call& call, double own_ns);
        void put(const facts::Call& call, double end);
    };
    struct Use {
        std::size_t lane = 0;
        Change change;
        std::uint64_t seen = 0, done = 0;
        bool begun = false;
    };
    struct Deed {
        const Change* change = nullptr;
        bool first = false;
    };
    static Deed deed(Use& use);
    /// What the change leaves of a call.
    struct Left {
        double device_ns, own_ns, wake_ns;
    };
    static Left shorten(const Pending& pending, const Change& change);
    void step(Lane& lane, const Pending& pending, const Deed& deed);

    std::vector<Lane> lanes_;
    std::unordered_map<model::CallSite, std::vector<Use>, model::CallSiteHash> uses_;
};

} // namespace umadvisor::timeline
