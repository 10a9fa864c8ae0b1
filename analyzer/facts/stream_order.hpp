/// Which earlier work is done before work that a stream is given now.
#pragma once

#include "analyzer/facts/call.hpp"

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace umadvisor::facts {

/// The order follows from the program's calls alone, not from times: vector clocks of streams, events and the
/// host. All threads of the host count as one, since they may synchronise with each other unseen. In doubt
/// there is an order. Memory: a number for each pair of streams, and one for each event and stream. In a
/// program with more than `most_streams` or `most_events` alive at a time, all work counts as ordered.
class StreamOrder {
public:
    static constexpr std::size_t most_streams = 256, most_events = 16'384;

    /// A piece of work: the `number`-th of its stream, counted from 1.
    struct Moment {
        std::uint32_t stream = 0;
        std::uint64_t number = 0;
    };

    /// In the order of their starts.
    void add(const facts::Call& call);
    /// Work of the run that this order leaves out keeps its number, so that the work behind it has the same
    /// number as in the run's order.
    void leave_out(const facts::StreamPlace& stream);
    /// Streams may wait for each other in ways that the recorded calls do not show.
    void give_up() { unknown_ = true; }

    /// The work that was queued last into this stream.
    Moment last(const facts::StreamPlace& stream) const;
    /// `earlier` is done before whatever is queued into `stream` next. After add() of a call that queues work
    /// this holds for that work, too.
    bool before(const Moment& earlier, const facts::StreamPlace& stream) const;
    /// The host has waited for it, or may have.
    bool is_awaited(const Moment& work) const;
    bool unknown() const { return unknown_; }
    /// From here on the same calls give the same answers in both: what may still order anything is equal. Both
    /// number their work alike, and this one has waited for no more.
    bool agrees(const StreamOrder& run) const;
    /// How much there is to compare.
    std::size_t size() const { return lanes_.size() * lanes_.size() + events_.size() * lanes_.size(); }
    /// More than one stream was given work.
    bool several_streams() const { return streams_with_work_ > 1; }

private:
    /// By StreamPlace::number: the numbers of the work that is done.
    struct Times {
        std::vector<std::uint64_t> done;
        std::uint64_t changes = 0; ///< it became another so often

        std::uint64_t of(std::uint32_t stream) const { return stream < done.size() ? done[stream] : 0; }
        void raise(std::uint32_t stream, std::uint64_t number);
        void join(const Times& other);
        bool equals(const Times& other) const;
        bool is_within(const Times& other) const; ///< all that is done here is done there
    };
    struct Lane {
        facts::StreamPlace place;
        Times times; ///< its own entry counts all that it was given
        std::uint64_t host_seen = 0;
        std::vector<std::uint64_t> seen; ///< changes of other lanes, by number: what was joined already
        bool used = false;
    };
    /// A call that waits, until it returns.
    struct Open {
        double end;
        facts::StreamPlace stream;
        std::uint32_t event;
        facts::Waits what;
        bool surely_waits;
    };

    Lane* lane(const facts::StreamPlace& stream);
    void join(Lane& lane, Lane& other);
    void absorb(Lane& lane);
    Times* event(std::uint32_t number);
    void wait(const Open& open);
    void close(double until);

    std::vector<Lane> lanes_;
    std::vector<std::uint32_t> legacy_; ///< of each device: the number of its legacy default stream, plus 1
    std::vector<Times> events_;
    Times host_;
    std::vector<Open> open_;
    double next_end_ = HUGE_VAL; ///< of the call in open_ that returns first
    std::size_t streams_with_work_ = 0;
    bool unknown_ = false;
};

} // namespace umadvisor::facts
