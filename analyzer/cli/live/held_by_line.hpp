/// Memory by line of one process after the other, read beside the screen.
#pragma once

#include "analyzer/live/counters.hpp"
#include "analyzer/live/held_lines.hpp"
#include "analyzer/live/process.hpp"

#include <chrono>
#include <future>
#include <map>
#include <string>
#include <utility>
#include <vector>

namespace umadvisor::cli {

inline constexpr std::size_t most_held_lines = 10;

/// Asks for a snapshot through a connection of its own. Throws reader::Error where there is none.
std::vector<live::HeldLine> read_held_lines(const live::Process& process);

/// One snapshot at a time, in a thread of its own. It ends after the snapshot that it waits for.
class HeldByLine {
public:
    struct Held {
        std::vector<live::HeldLine> lines;
        std::string trouble; ///< why there are none
        bool known = false;
    };
    /// Returns the lines that hold memory of `process`. Reads a new snapshot where its counters have changed
    /// since the last one, and not more often than every few seconds.
    const Held& of(const live::Process& process, const live::Counters& counters);

private:
    using Clock = std::chrono::steady_clock;
    struct Entry {
        Held held;
        std::uint64_t allocations = 0, bytes = 0; ///< when it was asked for last
        Clock::time_point asked{};
    };
    void take();

    std::map<std::pair<pid_t, pid_t>, Entry> entries_;
    std::pair<pid_t, pid_t> reading_{};
    std::future<std::vector<live::HeldLine>> result_;
};

} // namespace umadvisor::cli
