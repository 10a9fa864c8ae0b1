/// Where the time of the program's host threads went.
#pragma once

#include "analyzer/facts/call.hpp"

#include <algorithm>
#include <cstdint>
#include <vector>

namespace umadvisor::facts {

/// Time of one thread in calls, nanoseconds.
struct CallTimes {
    double wait_ns = 0; ///< for work that was queued before, in whatever call
    double copy_ns = 0; ///< in calls that copy, set or prefetch, without such waits
    double call_ns = 0; ///< in other calls

    double all_ns() const { return wait_ns + copy_ns + call_ns; }
};

/// Call it for each call once a clock knows how long the call waited. Memory: one entry a thread.
class HostTimes {
public:
    void settle(const facts::Call& call, double waited_ns) {
        if (call.thread >= threads_.size())
            threads_.resize(call.thread + std::size_t{1});
        CallTimes& times = threads_[call.thread];
        const double own_ns = std::max(0.0, call.duration - waited_ns);
        times.wait_ns += call.duration - own_ns;
        (call.bytes != 0 ? times.copy_ns : times.call_ns) += own_ns;
    }
    /// Of the thread that was in calls longest; zero without calls.
    CallTimes busiest() const {
        return threads_.empty() ? CallTimes() : *std::ranges::max_element(threads_, {}, &CallTimes::all_ns);
    }

private:
    std::vector<CallTimes> threads_; ///< by reader's index
};

} // namespace umadvisor::facts
