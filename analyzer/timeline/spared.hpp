/// Where in the run an edit takes time away.
#pragma once

#include "analyzer/reader/flat_map.hpp"

#include <cstddef>
#include <cstdint>
#include <vector>

namespace umadvisor::timeline {

/// What one replay takes off the time of each thread. Times are nanoseconds, positions those of the recorded
/// run. A call may take longer with the edit: what is spared is negative then. Memory: bounded for each thread.
struct Spared {
    static constexpr std::size_t stretches_of_run = 2048, most_threads = 64;

    /// Part of a thread's time: calls, each with the program's own code before it.
    struct Stretch {
        double begin = 0, end = 0;
        double code_ns = 0, waits_ns = 0;
        double copies_ns = 0; ///< of calls that wait for the copy that they make
    };
    struct Thread {
        std::vector<Stretch> stretches;
        reader::FlatMap<double> own_ns; ///< of calls, by entry, without their waits
        double shift_ns = 0;            ///< so much earlier than recorded its last call ended
        double added_ns = 0;            ///< that it needs for the remedies
    };
    std::vector<Thread> threads;
    double tail_ns = 0;            ///< behind the last call of the thread that ends last,
    std::uint32_t last_thread = 0; ///< this one
};

} // namespace umadvisor::timeline
