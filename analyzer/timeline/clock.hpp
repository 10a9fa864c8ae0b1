/// When everything in a run happened, and when it would have with changes.
#pragma once

#include "analyzer/facts/awaited.hpp"
#include "analyzer/facts/cached_map.hpp"
#include "analyzer/facts/call.hpp"
#include "analyzer/timeline/edit.hpp"
#include "analyzer/timeline/replays.hpp"
#include "analyzer/timeline/state.hpp"
#include "analyzer/timeline/window.hpp"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <unordered_map>
#include <vector>

namespace umadvisor::timeline {

/// A call whose place in time is known.
struct Settled {
    const facts::Call& call;
    double waited_ns = 0;   ///< of its duration, for work that was queued before it
    double device_ns = 0;   ///< that its own work took
    double work_end_ns = 0; ///< when that was done

    double own_ns() const { return call.duration - waited_ns; }
};

/// Fits what is not known, the durations of device work, so that every wait ends when the trace says, and
/// replays the run call by call with each of several edits. The method is a max-plus recurrence: no graph is
/// kept. Memory: what `State` holds, for each edit, and at most `window` calls.
class Clock {
public:
    static constexpr std::size_t window = 4096;
    using Observer = std::function<void(const Settled&)>;

    /// `hidden`: every second wait of each call site is predicted only.
    explicit Clock(Observer observer, const std::vector<Edit>& edits = {}, bool hidden = false);

    /// `earlier` has seen the whole run, and must outlive this clock. Late measurements of a kind of work then
    /// help to judge earlier calls that may have waited for such work.
    void know(const Clock& earlier) { earlier_ = &earlier; }
    /// spared() will show where this edit takes time off a run of so long.
    void watch(std::size_t edit, double run_ns) { replays_.watch(edit, run_ns); }
    /// In the order of their starts.
    void add(const facts::Call& call);
    /// The device took `ns` for the work that carries `sample`.
    void measured(std::uint64_t sample, double ns);
    /// Call once, after the last.
    void finish();

    /// The gain of each edit. `run_end`: when the run did, which may be after its last call.
    std::vector<Gain> gains(double run_end = 0) const;
    Spared spared(double run_end) const { return replays_.spared(base_.end(), run_end); }
    const Accuracy& accuracy() const { return accuracy_; }
    /// Summed over all work and frees: the longest minus the shortest time that the calls allow.
    double undecided_ns() const { return undecided_ns_; }

private:
    struct Usual {
        std::uint64_t count = 0;
        double mean = 0, variance = 0; ///< the latest count most
        void add(double ns);
        double spread() const; ///< how far single ones are off, relative
    };
    struct Group {
        Usual measured;
        Usual usual;      ///< what was measured, and what waits showed of the others
        double doubt = 0; ///< how far off `usual` may be
        std::uint32_t kin = 0;
        void add(double ns, bool is_measured);
    };
    /// The work in the window whose duration is to be fitted.
    struct Unknown {
        std::size_t count = 0;
        const Pending* last = nullptr;
        double most_doubt = 0;
    };
    /// What is known of the calls of one call site.
    struct Site {
        std::size_t number = SIZE_MAX; ///< SIZE_MAX: none yet
        std::uint64_t seen = 0;
        double own_ns = 0; ///< that its calls take when nothing is left to wait for; 0: not known
    };

    const Group* known_of(const facts::Call& call) const;
    const Group* measured_in(std::uint32_t group) const;
    const Group* told_of(const facts::Call& call) const;
    void expect();
    void resolve();
    bool must_have_waited(const facts::Call& call, double least) const;
    void fit(Pending& last);
    Growing simulate(double factor, bool all_alike);
    Growing solve(Growing end, double target, double& factor, bool& all_alike);
    void bound(double until, bool blocked, double factor, bool all_alike);
    void bound_free(Pending& last);
    double awaited_with(Pending::Split Pending::*split);
    void keep(double factor, bool all_alike, double until, bool known = false);
    void learn(const Pending& last, double end);
    void learn_own(Site& site, double ns) const;
    void settle(std::size_t count);

    Observer observer_;
    Replays replays_;
    bool hides_;
    std::vector<double> ends_; ///< of each thread's last call
    Window window_;
    bool unresolved_ = false; ///< the last call of the window waited
    State<double> base_;      ///< at the start of the window
    State<Growing> trial_;
    std::vector<const facts::Call*> places_; ///< of the window, by their first call
    Unknown unknown_;
    std::vector<Group> groups_;
    const Clock* earlier_ = nullptr;
    facts::CachedMap<std::unordered_map<ids::CallSite, Site>> sites_;
    facts::Awaited<std::uint32_t> awaited_; ///< groups of samples
    std::vector<double> latencies_;
    double latency_ = 4500; ///< from a launch to the return of a wait for it, without the work itself
    Accuracy accuracy_;
    struct Next {
        double begin = 0;
        bool idle = false; ///< the stream was, somewhere from there on
    };
    std::vector<Next> nexts_; ///< by stream, of what follows in the window
    double undecided_ns_ = 0;
};

} // namespace umadvisor::timeline
