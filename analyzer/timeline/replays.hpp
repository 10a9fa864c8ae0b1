/// Replays with edits, side by side.
#pragma once

#include "analyzer/facts/call.hpp"
#include "analyzer/reader/flat_map.hpp"
#include "analyzer/timeline/edit.hpp"
#include "analyzer/timeline/spared.hpp"
#include "analyzer/timeline/state.hpp"
#include "analyzer/timeline/times.hpp"
#include "analyzer/timeline/window.hpp"

#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace umadvisor::timeline {

/// One replay for each edit, `Times::count` of them side by side. A launch behind 1,022 others on its stream
/// waits for the first of them (measured: docs/measurements.md), or behind as many as the run shows. Where work
/// gets a stream of its own, wide kernels still run one at a time. Between changes, a replay soon does what the
/// run did, only earlier or later: it takes no time until the next.
class Replays {
public:
    explicit Replays(const std::vector<Edit>& edits);

    bool empty() const { return gains_.empty(); }
    /// spared() shows where this replay takes time off a run of so long. Call it before all else.
    void watch(std::size_t replay, double run_ns) {
        watched_ = replay;
        stretch_ns_ = run_ns / Spared::stretches_of_run;
    }
    /// `recorded`: the state before the call, without any edit.
    void settle(const Pending& pending, const State<double>& recorded);
    /// `device_end`: when the device is done without any edit. A run ends when both host and device are done.
    /// `run_end`: until then the host may have done something behind its last call.
    std::vector<Gain> gains(double device_end, double run_end) const;
    /// The saved time of the watched replay; arguments as for gains().
    Spared spared(double device_end, double run_end) const;

private:
    static constexpr std::size_t queue_length = 1022, most_queues = 8;

    /// A change, and how far it has been made.
    struct Use {
        std::size_t replay = 0;
        Change change;
        std::uint64_t seen = 0, done = 0;
        bool begun = false;
    };
    /// What one replay changes about the current call.
    struct Deed {
        std::size_t replay = 0;
        Change change;
        bool first = false;
    };
    /// A thread, as recorded.
    struct Thread {
        double end = 0;  ///< of its last call
        double room = 0; ///< when that found room in its queue, if later: it took longer than it is known to
        bool begun = false;
    };
    /// The share of a thread's own time that goes, by replay: from the wait for the launches that bring it, or
    /// at once, to the next launch.
    struct Relief {
        std::array<double, Times::count> share{};
        std::array<bool, Times::count> at_once{};
        bool waited = false;

        bool is_due(std::size_t lane) const { return share[lane] > 0 && (waited || at_once[lane]); }
    };
    /// What was launched last on a stream.
    template <class Time>
    struct Queue {
        std::vector<Time> ends = std::vector<Time>(queue_length);
        std::size_t next = 0, count = 0; ///< count: of all, or since the replay is out of step

        /// When the first of the last `length` launches ended.
        const Time& end(std::size_t length) const {
            return ends[(next + queue_length - length) % queue_length];
        }
        void push(const Time& end) {
            ends[next] = end;
            next = (next + 1) % queue_length;
            ++count;
        }
    };
    /// The queue's length as recorded. If launches keep finding as many unfinished ones before them, that is
    /// the length.
    struct Recorded : Queue<double> {
        std::size_t length = queue_length; ///< that holds up the next
        std::size_t pending = 0, level = 0, steady = 0;

        void learn(double now);
    };
    /// The queue of the call's stream, if it is one of the first; nullptr: the call launches nothing.
    template <class Kind>
    static Kind* queue_of(std::vector<Kind>& queues, const facts::Call& call);
    /// What the host does around a call, as recorded, without being held up by full queues.
    struct Unheld {
        double gap_ns = 0, own_ns = 0;
        bool behind_full = false;          ///< the launch before waited for room after its end,
        double early_ns = 0;               ///< and by so much less than was to be expected
        bool waits_later = false;          ///< this launch does so,
        double later_ns = 0;               ///< for so long
        std::size_t length = queue_length; ///< of its queue
    };
    struct Lanes {
        State<Times> state;
        std::vector<Times> hosts;         ///< ends of the last call, by thread
        std::vector<Times> rooms;         ///< when that found room, if it waited later
        std::vector<Queue<Times>> queues; ///< by stream
        Times shift;                      ///< by how much earlier than recorded the call that ended last did
        std::array<bool, Times::count> apart{}; ///< in which work gets a stream of its own
        std::vector<Times> wide;                ///< of these, by device: the end of the last wide kernel
        std::array<Assumed, Times::count> assumed{};
        bool assumes = false;        ///< of any
        std::vector<Times> owed;     ///< by thread: its next call begins no earlier
        bool relieves = false;       ///< a change takes time off the host's code behind a wait
        std::vector<Relief> reliefs; ///< by thread

        /// Whatever may still matter happens as recorded, only earlier by `shift`: state, queues, and hosts and
        /// rooms of the threads that are `with` it, are not kept.
        bool in_step = true;
        std::vector<char> with;
        Times shift_before;              ///< when it last was in step
        std::size_t steps = 0, look = 0; ///< since then; so many before the next look whether it is again
        bool waited = false;             ///< the last step's call

        /// When work of the call is done that the device knows of at `told` and that takes `device`.
        Times done(const facts::Call& call, const Times& told, const Times& device, std::span<const bool> own);
        /// `done` comes in the order of the streams; of those in a stream of their `own`, beside it.
        void queue(const facts::Call& call, const Times& done, std::span<const bool> own);
    };
    /// What became of a call in the watched replay.
    struct Became {
        double start = 0, end = 0, waited_ns = 0, added_ns = 0;
    };
    /// What is left of a call, nanoseconds.
    struct Left {
        double device_ns, own_ns, wake_ns;
    };

    /// What each replay assumes that an undecided call did.
    static void assume(const Lanes& lanes, const Pending& pending, Times& device, Times& own, Times& wake);
    void find_deeds(const ids::CallSite& site);
    static bool make(Use& use);
    static Deed both(const Deed& earlier, const Deed& deed);
    static double share_of_free(const Lanes& lanes, std::size_t lane, const Pending& pending);
    static Left shorten(const Pending& pending, const Change& change, double share);
    bool keeps_step(Lanes& lanes, const State<double>& recorded) const;
    bool enters_step(Lanes& lanes, const State<double>& recorded) const;
    void leave_step(std::size_t block, const State<double>& recorded);
    std::span<const Deed> deeds_of(std::size_t block) const;
    Times room(const Lanes& lanes, const Queue<Times>& queue, const facts::Call& call,
               std::size_t length) const;
    Unheld unhold(const Pending& pending, Thread& thread);
    void relieve(const Relief& relief, double gap_ns, std::size_t first_replay, Times& start);
    static void relieve_next(Relief& relief, const facts::Call& call, std::span<const Deed> deeds,
                             std::size_t first_replay);
    void step(Lanes& lanes, const Pending& pending, const Unheld& unheld, bool follows,
              std::span<const Deed> deeds, std::size_t first_replay);
    void spare(const Pending& pending, const Became& became);

    std::vector<Lanes> lanes_;
    std::vector<std::size_t> replayed_; ///< blocks of lanes_, call by call: those that are not in step
    std::vector<Gain> gains_;
    reader::FlatMap<std::vector<Use>> uses_; ///< by call site, in the order of the replays
    std::vector<Deed> deeds_;
    std::vector<Thread> threads_;
    std::vector<Recorded> queues_; ///< by stream
    std::uint32_t last_thread_ = 0;
    double launch_ns_ = HUGE_VAL; ///< that the shortest launch took
    double latest_end_ = 0;       ///< as recorded, of all threads
    std::size_t watched_ = SIZE_MAX;
    double stretch_ns_ = 0; ///< the shortest stretch that is reported
    Spared spared_;
};

} // namespace umadvisor::timeline
