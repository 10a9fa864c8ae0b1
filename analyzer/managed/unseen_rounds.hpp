/// Bytes moved in rounds of launches without a look, assumed to be the mean of the rounds around them.
#pragma once

#include "analyzer/managed/use_step.hpp"

#include <cstdint>

namespace umadvisor::managed {

/// Looks are left out where they would show what the last ones showed, and where they would cost too much. A
/// round begins with the first launch after a wait: in it memory goes to the device, before it memory comes to
/// the host. Stays count what moved between two looks.
class UnseenRounds {
public:
    void take(const UseStep& step);
    /// Call at the end.
    void finish() { close(); }

    /// Bytes to that side. None where faults are recorded or prefetches move memory, too: rounds differ then.
    std::uint64_t bytes(bool on_device) const;

private:
    class Direction {
    public:
        void leave_out() { ++unseen_; }
        void see(std::uint64_t bytes);
        /// Adds to the round that was seen last.
        void see_more(std::uint64_t bytes) { last_ += static_cast<double>(bytes); }
        std::uint64_t estimate() const;

    private:
        double last_ = 0, sum_ = 0;
        std::uint64_t unseen_ = 0; ///< since the last that was seen
        bool any_ = false;
    };
    enum class Seen : std::uint8_t { never, before_launch, after_wait };

    void launch();
    void close();
    void look_before_launch(std::uint64_t host_bytes);
    void look_in_round(std::uint64_t host_bytes);
    void went(std::uint64_t bytes);

    Direction to_device_, to_host_;
    Seen seen_ = Seen::never;   ///< when the last look was
    std::uint64_t on_host_ = 0; ///< at that look
    bool open_ = false;         ///< a round has begun and no look has shown its end
    bool waited_ = false;       ///< for its launches
    bool looked_ = false;       ///< since it has begun
    bool went_known_ = false;   ///< what went to the device in it
    bool came_known_ = true;    ///< what came to the host before it, or before the next where none is open
    bool given_up_ = false;
};

} // namespace umadvisor::managed
