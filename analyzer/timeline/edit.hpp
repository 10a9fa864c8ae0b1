/// What could be otherwise in a run, and what replays say of it.
#pragma once

#include "analyzer/ids/call_site.hpp"

#include <algorithm>
#include <cstdint>
#include <vector>

namespace umadvisor::timeline {

/// What becomes of the calls of one call site.
struct Change {
    enum class What : std::uint8_t {
        gone,         ///< neither call nor work
        asynchronous, ///< the call returns without a wait; the device needs less for its work
        shorter,      ///< the device needs less for its work; the host, if there is none or it waits for it
        own_stream,   ///< its work and that of other streams wait no longer for each other by the rule of the
                      ///< legacy default stream
    };
    ids::CallSite site;
    What what{};
    double share = 1; ///< of these calls, spread evenly; the others stay
    double less_ns = 0, less_ns_per_byte = 0;
    double less_share = 0; ///< of what the device needs for its work
    /// So much of the thread's own time before each call goes with it, where there is as much.
    double less_before_ns = 0;
    /// Of the thread's own time from the next wait to its next launch, the share that goes: the host touches
    /// there what the work has made.
    double less_after_share = 0;
    bool at_once = false;     ///< and of what lies before that wait: the host touches it while the work is done
    double added_ns = 0;      ///< that the host needs once, before the first of them
    double added_each_ns = 0; ///< and before each
    bool data_needed = false; ///< asynchronous: the host may look at what the call no longer waits for
};

/// Where the calls do not decide how a stretch of the run went, a replay assumes one of these.
enum class Assumed : std::uint8_t {
    likely,
    short_work, ///< the device's work was short, frees took the time themselves, and the host does without what
                ///< it no longer waits for until its next wait
    long_work,  ///< the work took as long as the recorded waits allow, frees waited for it, and the host needs
                ///< what it no longer waits for at its next call
};

/// All changes that one remedy makes.
struct Edit {
    std::vector<Change> changes;
    Assumed assumed{};
};

/// How accurate a replay is: how predicted waits agree with recorded ones.
struct Accuracy {
    std::uint64_t hidden = 0; ///< waits that were predicted, not fitted
    double error_ns = 0;      ///< the sum of how far their ends are off
    double hidden_ns = 0;     ///< what they took
};

/// What a replay with an edit shows, nanoseconds.
struct Gain {
    double saved_ns = 0;  ///< by how much the run ends earlier; negative: later
    double edited_ns = 0; ///< what was changed took so much less
    double added_ns = 0;  ///< the host needed so much more for it

    /// Of the time that the edit takes away, the share by which the run ends earlier: the rest passed while
    /// something else took as long. From 0 to 1.
    double critical_share() const {
        return edited_ns > 0 ? std::clamp((saved_ns + added_ns) / edited_ns, 0.0, 1.0) : 0;
    }
};

} // namespace umadvisor::timeline
