/// Replays with edits, side by side.
#pragma once

#include "analyzer/facts/call.hpp"
#include "analyzer/reader/flat_map.hpp"
#include "analyzer/timeline/edit.hpp"
#include "analyzer/timeline/state.hpp"
#include "analyzer/timeline/times.hpp"
#include "analyzer/timeline/window.hpp"

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace umadvisor::timeline {

/// One replay for each edit, `Times::count` of them side by side. A launch behind 1,022 others on its stream
/// waits for the first of them (measured: docs/measurements.md).
class Replays {
public:
    explicit Replays(const std::vector<Edit>& edits);

    bool empty() const { return gains_.empty(); }
    void settle(const Pending& pending);
    /// `device_end`: when the device is done without any edit. A run ends when both host and device are done.
    std::vector<Gain> gains(double device_end) const;

private:
    static constexpr std::size_t queue_length = 1022, most_queues = 8;

    /// A change, and how far it has been made.
    struct Use {
        std::size_t replay = 0;
        Change change;
        std::uint64_t seen = 0, done = 0;
        bool begun = false;
    };
    /// What is done to the call at hand in one replay.
    struct Deed {
        std::size_t replay = 0;
        Change change;
        bool first = false;
    };
    /// A thread, as recorded.
    struct Thread {
        double end = 0; ///< of its last call
        bool begun = false;
    };
    struct Queue {
        std::vector<Times> ends; ///< of what was launched last
        std::size_t next = 0;
    };
    struct Lanes {
        State<Times> state;
        std::vector<Times> hosts;  ///< ends of the last call, by thread
        std::vector<Queue> queues; ///< by stream, of the first streams
        Times shift;               ///< by how much earlier than recorded the call that ended last did

        /// When what is launched next finds room in the queue of its stream: to be replaced by its own end.
        /// nullptr: it needs none.
        Times* room(const facts::Call& call);
    };
    /// What is left of a call, nanoseconds.
    struct Left {
        double device_ns, own_ns, wake_ns;
    };

    void find_deeds(const model::CallSite& site);
    static bool make(Use& use);
    static Left shorten(const Pending& pending, const Change& change);
    void step(Lanes& lanes, const Pending& pending, bool follows, std::span<const Deed> deeds,
              std::size_t first_replay);

    std::vector<Lanes> lanes_;
    std::vector<Gain> gains_;
    reader::FlatMap<std::vector<Use>> uses_; ///< by call site, in the order of the replays
    std::vector<Deed> deeds_;
    std::vector<Thread> threads_;
    double latest_end_ = 0; ///< as recorded, of all threads
};

} // namespace umadvisor::timeline
