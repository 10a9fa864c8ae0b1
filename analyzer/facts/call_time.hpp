/// How long calls took, some of which were measured.
#pragma once

#include <cstdint>

namespace umadvisor::facts {

/// Launches that follow each other closely are measured by samples: each stands for some that were not, and was
/// drawn from all of them. Those after a pause, where launches that block are found, are all measured and stand
/// for themselves.
struct CallTime {
    std::uint64_t measured = 0, ticks = 0;
    std::uint64_t unmeasured = 0;
    std::uint64_t known_for = 0; ///< of the unmeasured, as the samples say
    double known_ticks = 0;      ///< and what they say it comes to

    void add(std::uint64_t duration, std::uint64_t stands_for) {
        if (duration == 0) {
            ++unmeasured;
            return;
        }
        ++measured;
        ticks += duration;
        if (stands_for == 0)
            return;
        known_for += stands_for;
        known_ticks += static_cast<double>(duration) * static_cast<double>(stands_for);
    }
    CallTime& operator+=(const CallTime& other) {
        measured += other.measured;
        ticks += other.ticks;
        unmeasured += other.unmeasured;
        known_for += other.known_for;
        known_ticks += other.known_ticks;
        return *this;
    }

    /// The time of all calls. `alike` supplies the usual time of unmeasured calls that no sample covers.
    double total_ticks(const CallTime& alike) const {
        const CallTime& known = known_for != 0 ? *this : alike;
        const double usual = known.known_for != 0 ? known.known_ticks / static_cast<double>(known.known_for)
                             : known.measured != 0
                                 ? static_cast<double>(known.ticks) / static_cast<double>(known.measured)
                                 : 0;
        return static_cast<double>(ticks) + usual * static_cast<double>(unmeasured);
    }
};

} // namespace umadvisor::facts
